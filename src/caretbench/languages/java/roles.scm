; See syntax/roles.py for the words.
[(identifier) (type_identifier)] @is.identifier
(this) @is.self
(super) @is.super

; scopes
[(class_declaration) (enum_declaration) (record_declaration)] @is.scope.class
[(interface_declaration) (annotation_type_declaration)] @is.scope.interface
(object_creation_expression (class_body) @is.scope.class)
(class_declaration name: (_) @as.declare.class body: (_) @as.body)
(enum_declaration name: (_) @as.declare.class body: (_) @as.body)
(record_declaration name: (_) @as.declare.class body: (_) @as.body)
(interface_declaration name: (_) @as.declare.interface body: (_) @as.body)
(annotation_type_declaration name: (_) @as.declare.interface body: (_) @as.body)
(superclass (type_identifier) @mark.base)
(superclass (generic_type . (type_identifier) @mark.base))
(superclass (scoped_type_identifier (type_identifier) @mark.base .))
(type_list (type_identifier) @mark.base)
(type_list (generic_type . (type_identifier) @mark.base))
(object_creation_expression type: (type_identifier) (class_body))
[(method_declaration) (constructor_declaration) (compact_constructor_declaration)] @is.scope.method
(method_declaration name: (_) @as.declare.method)
(method_declaration body: (_) @as.body)
(constructor_declaration name: (_) @as.declare.method body: (_) @as.body)
(compact_constructor_declaration name: (_) @as.declare.method body: (_) @as.body)
(lambda_expression) @is.scope.lambda
(lambda_expression body: (_) @as.body)
[(block) (constructor_body) (switch_block) (catch_clause)] @is.scope.block
(type_parameter . (type_identifier) @as.target.type)

; parameters
(formal_parameter type: (_) @mark.type name: (_) @as.target.parameter)
(record_declaration parameters: (formal_parameters (formal_parameter name: (_) @as.target.field)))
(spread_parameter (variable_declarator name: (_) @as.target.parameter))
(lambda_expression parameters: (identifier) @as.target.parameter)
(inferred_parameters (identifier) @as.target.parameter)
(catch_formal_parameter (catch_type (type_identifier) @mark.type))
(catch_formal_parameter name: (_) @as.target.local)

; what is assigned
(variable_declarator name: (identifier) @as.target.local)
(variable_declarator value: (_) @as.value)
(local_variable_declaration type: (_) @mark.type)
(field_declaration type: (_) @mark.type)
(resource type: (_) @mark.type name: (_) @as.target.local value: (_) @as.value)
(enum_constant name: (_) @as.target.field)
(instanceof_expression right: (_) @mark.type name: (_) @as.target.local)
(type_pattern (_) @mark.type . (identifier) @as.target.local)
(record_pattern . (identifier) @is.identifier)
(record_pattern_component (_) @mark.type . (identifier) @as.target.local)
(assignment_expression left: (_) @as.target.write operator: "=" right: (_) @as.value)
(assignment_expression left: (_) @as.target.update
  operator: ["+=" "-=" "*=" "/=" "%=" "&=" "|=" "^=" "<<=" ">>=" ">>>="])
(update_expression (_) @as.target.update)
(parenthesized_expression) @is.pattern
(object_creation_expression type: (_) @mark.constructed)

; names that are none, members
(method_invocation !object name: (_) @mark.called)
(method_invocation object: (_) @as.object name: (_) @as.member @mark.called) @is.member
(field_access object: (_) @as.object field: (_) @as.member) @is.member
(method_reference . (_) @as.object (identifier) @as.member @mark.called .) @is.member
(scoped_type_identifier . (_) @as.object (type_identifier) @as.member .) @is.member
(scoped_identifier scope: (_) @as.object name: (_) @as.member) @is.member
(element_value_pair key: (_) @as.ignore)
(labeled_statement . (identifier) @as.ignore)
(break_statement (identifier) @as.ignore)
(continue_statement (identifier) @as.ignore)
(package_declaration) @is.skip
(import_declaration) @is.import

; the flow
(if_statement) @is.branch
(if_statement condition: (_) @as.condition consequence: (_) @as.body)
(if_statement alternative: (_) @as.else)
[(while_statement) (do_statement) (for_statement) (enhanced_for_statement)] @is.loop
(do_statement) @mark.post
(while_statement condition: (_) @as.condition body: (_) @as.body)
(do_statement body: (_) @as.body condition: (_) @as.condition)
(for_statement init: (_) @as.init)
(for_statement condition: (_) @as.condition)
(for_statement update: (_) @as.update)
(for_statement body: (_) @as.body)
(enhanced_for_statement type: (_) @mark.type name: (_) @as.target.loop value: (_) @as.init body: (_) @as.body)
[(try_statement) (try_with_resources_statement)] @is.try
(try_statement body: (_) @as.body)
(try_with_resources_statement resources: (_) @as.init body: (_) @as.body)
(catch_clause) @as.handler
(finally_clause) @as.finally
(switch_expression) @is.switch
(switch_expression condition: (_) @as.subject)
[(switch_block_statement_group) (switch_rule)] @is.case
(switch_block_statement_group) @mark.falls
(switch_block_statement_group (switch_label "default")) @mark.default
(switch_rule (switch_label "default")) @mark.default
(return_statement) @is.return
(throw_statement) @is.throw
(break_statement) @is.break
(yield_statement) @is.break
(continue_statement) @is.continue
