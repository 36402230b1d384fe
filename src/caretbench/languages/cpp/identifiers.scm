; See syntax/identifiers.py for the words.
[(identifier) (field_identifier) (type_identifier) (namespace_identifier)] @identifier

[(preproc_include) (using_declaration) (preproc_def) (preproc_params) (attribute_declaration) (destructor_name)
 (structured_binding_declarator) (lambda_capture_specifier) (template_parameter_list)] @declared
[(preproc_function_def name: (_) @declared) (preproc_ifdef name: (_) @declared) (preproc_if condition: (_) @declared)]
(namespace_definition name: (_) @declared)
(namespace_alias_definition name: (_) @declared)
(class_specifier name: (_) @declared)
(struct_specifier name: (_) @declared body: (_))
(union_specifier name: (_) @declared body: (_))
(enum_specifier name: (_) @declared body: (_))
(enumerator name: (_) @declared)
(alias_declaration name: (_) @declared)
(type_definition declarator: (_) @declared)
(function_declarator declarator: (_) @declared)
(parameter_declaration declarator: [(identifier) (pointer_declarator) (reference_declarator) (array_declarator)] @declared)
(optional_parameter_declaration declarator: (_) @declared)
(init_declarator declarator: (_) @declared)
(declaration declarator: [(identifier) (pointer_declarator (identifier)) (array_declarator) (reference_declarator (identifier))]
  @declared)
(field_declaration declarator: [(field_identifier) (pointer_declarator (field_identifier)) (array_declarator)] @declared)
(for_range_loop declarator: (_) @declared)
((identifier) @skip (#any-of? @skip "_" "nullptr" "static_cast" "dynamic_cast" "const_cast" "reinterpret_cast"))
[(string_literal) (raw_string_literal) (char_literal)] @skip

(call_expression function: (identifier) @called)
(call_expression function: (field_expression field: (_) @called))
(call_expression function: (qualified_identifier name: (identifier) @called))
(call_expression function: (template_function name: (identifier) @called))
(field_expression argument: (identifier) @object)
(field_expression field: (field_identifier) @member)
(qualified_identifier scope: (_) @object)
(qualified_identifier name: [(identifier) (type_identifier)] @member)
(field_initializer . (field_identifier) @key)
(field_designator (_) @key)

[(function_definition) (lambda_expression)] @function
[(compound_statement) (field_declaration_list) (declaration_list) (enumerator_list) (initializer_list)
 (field_initializer_list) (base_class_clause)] @unordered
(binary_expression operator: ["==" "!=" "+" "*" "&" "|" "^" "&&" "||"]) @symmetric
