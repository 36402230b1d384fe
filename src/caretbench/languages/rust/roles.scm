; See syntax/names/node_roles.py for the words.
[(identifier) (type_identifier) (field_identifier)] @is.identifier
[(self) (crate)] @is.self

; scopes
(mod_item body: (_)) @is.scope.namespace
(mod_item name: (_) @as.declare.namespace body: (_) @as.body)
(mod_item name: (_) @as.ignore !body)
[(struct_item) (enum_item) (union_item) (impl_item)] @is.scope.class
(trait_item) @is.scope.interface
(struct_item name: (_) @as.declare.class)
(enum_item name: (_) @as.declare.class)
(union_item name: (_) @as.declare.class)
(struct_item body: (_) @as.body)
(enum_item body: (_) @as.body)
(union_item body: (_) @as.body)
(trait_item name: (_) @as.declare.interface body: (_) @as.body)
(impl_item type: (_) @as.value body: (_) @as.body)
; what is implemented, and for what: members of either are the block's own
(impl_item trait: (type_identifier) @mark.base)
(impl_item trait: (generic_type type: (type_identifier) @mark.base))
(impl_item type: (type_identifier) @mark.base)
(impl_item type: (generic_type type: (type_identifier) @mark.base))
(type_item name: (_) @as.declare.class)
(function_item) @is.scope.function
(impl_item body: (declaration_list (function_item) @is.scope.method))
(trait_item body: (declaration_list (function_item) @is.scope.method))
(function_item name: (_) @as.declare.function)
(impl_item body: (declaration_list (function_item name: (_) @as.declare.method)))
(trait_item body: (declaration_list (function_item name: (_) @as.declare.method)))
(function_item body: (_) @as.body)
(function_signature_item name: (_) @as.declare.method)
(closure_expression) @is.scope.lambda
(closure_expression body: (_) @as.body)
(block) @is.scope.block
(type_parameter name: (_) @as.target.type)
(const_parameter name: (_) @as.target.type)

; parameters
(parameter pattern: (_) @as.target.parameter type: (_) @mark.type)
(closure_parameters (identifier) @as.target.parameter)
(closure_parameters (tuple_pattern) @as.target.parameter)
(closure_parameters (reference_pattern) @as.target.parameter)
(self_parameter) @is.skip

; what is assigned
[(tuple_pattern) (slice_pattern) (reference_pattern) (mut_pattern) (ref_pattern) (tuple_struct_pattern)
 (struct_pattern) (field_pattern) (captured_pattern) (or_pattern) (match_pattern)] @is.pattern
(tuple_struct_pattern type: (_) @as.ignore)
(struct_pattern type: (_) @as.ignore)
(field_pattern name: (field_identifier) @as.ignore)
(let_declaration pattern: (_) @as.target.local)
(let_declaration type: (_) @mark.type)
(let_declaration value: (_) @as.value)
(let_declaration alternative: (_) @as.body)
(let_condition pattern: (_) @as.target.local value: (_) @as.value)
(const_item name: (_) @as.target.local type: (_) @mark.type value: (_) @as.value)
(static_item name: (_) @as.target.local type: (_) @mark.type value: (_) @as.value)
(field_declaration name: (_) @as.target.field type: (_) @mark.type)
(enum_variant name: (_) @as.target.field)
(assignment_expression left: (_) @as.target.write right: (_) @as.value)
(compound_assignment_expr left: (_) @as.target.update right: (_) @as.value)
(parenthesized_expression) @is.pattern
(struct_expression name: (_) @mark.constructed)

; names that are none, members
(call_expression function: (identifier) @mark.called)
(call_expression function: (field_expression field: (_) @mark.called))
(call_expression function: (scoped_identifier name: (_) @mark.called))
(call_expression function: (generic_function function: (identifier) @mark.called))
(field_expression value: (_) @as.object field: (_) @as.member) @is.member
(scoped_identifier path: (_) @as.object name: (_) @as.member) @is.member
(scoped_type_identifier path: (_) @as.object name: (_) @as.member) @is.member
(field_initializer field: (_) @as.ignore)
(macro_invocation macro: (_) @as.ignore)
(macro_definition) @is.skip
[(attribute_item) (inner_attribute_item) (lifetime) (label)] @is.skip
(use_declaration) @is.import
(extern_crate_declaration) @is.skip

; the flow
(if_expression) @is.branch
(if_expression condition: (_) @as.condition consequence: (_) @as.body)
(if_expression alternative: (_) @as.else)
[(while_expression) (loop_expression) (for_expression)] @is.loop
(while_expression condition: (_) @as.condition body: (_) @as.body)
(loop_expression body: (_) @as.body)
(for_expression pattern: (_) @as.target.loop value: (_) @as.init body: (_) @as.body)
(match_expression) @is.switch
(match_expression value: (_) @as.subject)
(match_arm) @is.case
(match_arm pattern: (_) @as.target.local)
(return_expression) @is.return
(break_expression) @is.break
(continue_expression) @is.continue
