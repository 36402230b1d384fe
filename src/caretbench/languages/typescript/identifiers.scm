; inherits: ecmascript
[(identifier) (property_identifier) (private_property_identifier) (type_identifier)] @identifier
[(import_statement) (export_clause) (decorator) (object_pattern) (array_pattern) (type_parameters)] @declared
(required_parameter pattern: (_) @declared)
(optional_parameter pattern: (_) @declared)
(function_signature name: (_) @declared)
(abstract_class_declaration name: (_) @declared)
(interface_declaration name: (_) @declared)
(type_alias_declaration name: (_) @declared)
(enum_declaration name: (_) @declared)
(enum_body (property_identifier) @declared)
(enum_assignment name: (_) @declared)
(internal_module name: (_) @declared)
(module name: (_) @declared)
(method_signature name: (_) @declared)
(abstract_method_signature name: (_) @declared)
(property_signature name: (_) @declared)
(public_field_definition name: (_) @declared)
(nested_type_identifier module: (_) @object name: (_) @member)
[(statement_block) (object) (array) (class_body) (interface_body) (object_type) (switch_body) (union_type)
 (intersection_type)] @unordered
