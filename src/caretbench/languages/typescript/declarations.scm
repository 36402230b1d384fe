; inherits: ecmascript
(public_field_definition name: (_) @name) @declaration
(function_signature name: (_) @name) @declaration
(method_signature name: (_) @name) @declaration
(abstract_method_signature name: (_) @name) @declaration
(abstract_class_declaration name: (_) @name) @declaration
(interface_declaration name: (_) @name) @declaration
(type_alias_declaration name: (_) @name) @declaration
(enum_declaration name: (_) @name) @declaration
(internal_module name: (_) @name) @declaration
(module name: (_) @name) @declaration
