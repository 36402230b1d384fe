; See syntax/identifiers.py for the words.
[(identifier) (field_identifier) (type_identifier)] @identifier

[(use_declaration) (extern_crate_declaration) (type_parameters) (attribute_item) (inner_attribute_item)
 (macro_definition) (lifetime) (label)] @declared
(mod_item name: (_) @declared)
(function_item name: (_) @declared)
(function_signature_item name: (_) @declared)
(struct_item name: (_) @declared)
(enum_item name: (_) @declared)
(enum_variant name: (_) @declared)
(union_item name: (_) @declared)
(trait_item name: (_) @declared)
(type_item name: (_) @declared)
(associated_type name: (_) @declared)
(const_item name: (_) @declared)
(static_item name: (_) @declared)
(field_declaration name: (_) @declared)
(parameter pattern: (_) @declared)
(closure_parameters (identifier) @declared)
(let_declaration pattern: (_) @declared)
(let_condition pattern: (_) @declared)
(for_expression pattern: (_) @declared)
(match_arm pattern: (_) @declared)
(macro_invocation macro: (_) @declared)
(shorthand_field_initializer) @declared
((identifier) @skip (#any-of? @skip "_" "Some" "None" "Ok" "Err" "Self"))
((type_identifier) @skip (#any-of? @skip "Self"))

(call_expression function: (identifier) @called)
(call_expression function: (field_expression field: (_) @called))
(call_expression function: (scoped_identifier name: (_) @called))
(call_expression function: (generic_function function: (identifier) @called))
(call_expression function: (generic_function function: (scoped_identifier name: (_) @called)))
(call_expression function: (generic_function function: (field_expression field: (_) @called)))
(field_expression value: (identifier) @object)
(field_expression field: (field_identifier) @member)
(scoped_identifier path: (identifier) @object)
(scoped_identifier name: (_) @member)
(scoped_type_identifier path: (identifier) @object)
(scoped_type_identifier name: (_) @member)
(field_initializer field: (_) @key)
(token_tree (identifier) @loose)

[(function_item) (closure_expression)] @function
[(block) (declaration_list) (field_initializer_list) (field_declaration_list) (array_expression) (match_block)
 (trait_bounds)] @unordered
(binary_expression operator: ["==" "!=" "+" "*" "&" "|" "^" "&&" "||"]) @symmetric
