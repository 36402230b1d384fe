; inherits: ecmascript
[(identifier) (type_identifier) (shorthand_property_identifier) (shorthand_property_identifier_pattern)] @is.identifier
[(class_declaration) (abstract_class_declaration) (class) (enum_declaration)] @is.scope.class
(interface_declaration) @is.scope.interface
[(internal_module) (module)] @is.scope.namespace
(abstract_class_declaration name: (_) @as.declare.class body: (_) @as.body)
(enum_declaration name: (_) @as.declare.class body: (_) @as.body)
(interface_declaration name: (_) @as.declare.interface body: (_) @as.body)
(internal_module name: (identifier) @as.declare.namespace body: (_) @as.body)
(extends_clause value: (identifier) @mark.base)
(implements_clause (type_identifier) @mark.base)
(implements_clause (generic_type name: (type_identifier) @mark.base))
(extends_type_clause type: (type_identifier) @mark.base)
(extends_type_clause type: (generic_type name: (type_identifier) @mark.base))
(type_parameter name: (_) @as.target.type)
(type_alias_declaration name: (_) @as.declare.interface)
(type_alias_declaration) @is.scope.interface
(required_parameter pattern: (_) @as.target.parameter)
(optional_parameter pattern: (_) @as.target.parameter)
(required_parameter type: (_) @mark.type)
(optional_parameter type: (_) @mark.type)
(required_parameter value: (_) @as.value)
(required_parameter (accessibility_modifier) pattern: (_) @mark.property)
(optional_parameter (accessibility_modifier) pattern: (_) @mark.property)
(required_parameter "readonly" pattern: (_) @mark.property)
(required_parameter pattern: (this) @as.ignore)
(function_type (formal_parameters) @as.ignore)
(constructor_type (formal_parameters) @as.ignore)
(method_signature (formal_parameters) @as.ignore)
(abstract_method_signature (formal_parameters) @as.ignore)
(function_signature (formal_parameters) @as.ignore)
(call_signature (formal_parameters) @as.ignore)
(construct_signature (formal_parameters) @as.ignore)
(index_signature name: (_) @as.ignore)
(type_predicate name: (_) @as.ignore)
(public_field_definition name: (_) @as.target.field)
(public_field_definition type: (_) @mark.type)
(public_field_definition value: (_) @as.value)
(property_signature name: (_) @as.target.field)
(method_signature name: (_) @as.declare.method)
(abstract_method_signature name: (_) @as.declare.method)
(function_signature name: (_) @as.declare.function)
(object_type (property_signature name: (_) @as.ignore))
(object_type (method_signature name: (_) @as.ignore))
(enum_body name: (_) @as.target.field)
(enum_assignment name: (_) @as.target.field)
(variable_declarator type: (_) @mark.type)
(nested_type_identifier module: (_) @as.object name: (_) @as.member) @is.member
(nested_identifier object: (_) @as.object property: (_) @as.member) @is.member
(predefined_type) @is.skip
(literal_type) @is.skip
