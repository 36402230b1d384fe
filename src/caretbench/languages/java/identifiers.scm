; See syntax/identifiers.py for the words.
[(identifier) (type_identifier)] @identifier

[(import_declaration) (package_declaration) (modifiers) (type_parameters) (annotation) (marker_annotation)] @declared
(class_declaration name: (_) @declared)
(interface_declaration name: (_) @declared)
(enum_declaration name: (_) @declared)
(record_declaration name: (_) @declared)
(annotation_type_declaration name: (_) @declared)
(method_declaration name: (_) @declared)
(constructor_declaration name: (_) @declared)
(compact_constructor_declaration name: (_) @declared)
(formal_parameter name: (_) @declared)
(spread_parameter (variable_declarator) @declared)
(inferred_parameters) @declared
(lambda_expression parameters: (identifier) @declared)
(catch_formal_parameter name: (_) @declared)
(variable_declarator name: (_) @declared)
(enhanced_for_statement name: (_) @declared)
(resource name: (_) @declared)
(enum_constant name: (_) @declared)
(instanceof_expression name: (_) @declared)
(type_pattern (identifier) @declared)
(record_pattern_component (identifier) @declared)
(labeled_statement . (identifier) @declared)
[(break_statement (identifier) @declared) (continue_statement (identifier) @declared)]
(element_value_pair key: (_) @declared)
((type_identifier) @skip (#any-of? @skip "var"))
(string_literal) @skip

(method_invocation name: (_) @called)
(method_invocation object: (_) name: (_) @member)
(method_invocation object: (identifier) @object)
(method_reference . (identifier) @object)
(method_reference (identifier) @member .)
(object_creation_expression type: (type_identifier) @called)
(field_access object: (identifier) @object)
(field_access field: (_) @member)
(scoped_type_identifier (type_identifier) @member .)

[(method_declaration) (constructor_declaration) (lambda_expression)] @function
[(block) (class_body) (interface_body) (enum_body) (array_initializer) (switch_block) (catch_type) (type_list)
 (constructor_body)] @unordered
(switch_label (_) (_)) @unordered
(binary_expression operator: ["==" "!=" "+" "*" "&" "|" "^" "&&" "||"]) @symmetric
