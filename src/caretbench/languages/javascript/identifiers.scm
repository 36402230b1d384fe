; inherits: ecmascript
[(identifier) (property_identifier) (private_property_identifier)] @identifier
[(import_statement) (export_clause) (formal_parameters) (decorator) (object_pattern) (array_pattern)] @declared
[(statement_block) (object) (array) (class_body) (switch_body)] @unordered
