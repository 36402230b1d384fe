; See syntax/identifiers.py for the words. Not JavaScript's: fields and parameters have other names here.
[(identifier) (property_identifier) (private_property_identifier) (type_identifier)] @identifier

[(import_statement) (export_clause) (decorator) (object_pattern) (array_pattern) (type_parameters)] @declared
(required_parameter pattern: (_) @declared)
(optional_parameter pattern: (_) @declared)
(function_declaration name: (_) @declared)
(function_signature name: (_) @declared)
(generator_function_declaration name: (_) @declared)
(function_expression name: (_) @declared)
(class_declaration name: (_) @declared)
(abstract_class_declaration name: (_) @declared)
(interface_declaration name: (_) @declared)
(type_alias_declaration name: (_) @declared)
(enum_declaration name: (_) @declared)
(enum_body (property_identifier) @declared)
(enum_assignment name: (_) @declared)
(internal_module name: (_) @declared)
(module name: (_) @declared)
(method_definition name: (_) @declared)
(method_signature name: (_) @declared)
(abstract_method_signature name: (_) @declared)
(property_signature name: (_) @declared)
(public_field_definition name: (_) @declared)
(variable_declarator name: (_) @declared)
(arrow_function parameter: (_) @declared)
(for_in_statement left: (identifier) @declared)
(catch_clause parameter: (_) @declared)
[(template_string) (string) (regex)] @skip
((identifier) @skip (#any-of? @skip "undefined" "arguments" "require" "module" "exports" "_"))

(call_expression function: (identifier) @called)
(call_expression function: (member_expression property: (_) @called))
(new_expression constructor: (identifier) @called)
(new_expression constructor: (member_expression property: (_) @called))
(member_expression object: (identifier) @object)
(member_expression property: (_) @member)
(nested_type_identifier module: (_) @object name: (_) @member)
(pair key: (property_identifier) @key)

[(function_declaration) (function_expression) (arrow_function) (method_definition) (generator_function)
 (generator_function_declaration)] @function
[(statement_block) (object) (array) (class_body) (interface_body) (object_type) (switch_body) (union_type)
 (intersection_type)] @unordered
(binary_expression operator: ["==" "!=" "===" "!==" "+" "*" "&" "|" "^" "&&" "||"]) @symmetric
