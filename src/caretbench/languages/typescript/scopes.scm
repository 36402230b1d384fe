; inherits: ecmascript
[(function_signature) (method_signature) (abstract_method_signature) (function_type) (constructor_type) (call_signature)
 (construct_signature)] @scope
(required_parameter pattern: (identifier) @parameter)
(required_parameter pattern: (identifier) @parameter type: (_) @type)
(required_parameter pattern: (identifier) @parameter value: (_) @value)
(optional_parameter pattern: (identifier) @parameter type: (_) @type)
(variable_declarator name: (identifier) @local type: (_) @type)
(public_field_definition name: (property_identifier) @field type: (_) @type)
(property_signature name: (property_identifier) @field type: (_) @type)
(function_declaration name: (identifier) @function parameters: (_) @parameters return_type: (_) @type)
(method_definition name: (_) @function parameters: (_) @parameters return_type: (_) @type)
(class_declaration name: (type_identifier) @typename)
(interface_declaration name: (type_identifier) @typename)
