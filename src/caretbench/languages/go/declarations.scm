(function_declaration name: (_) @name) @declaration
(method_declaration name: (_) @name) @declaration
(type_declaration (type_spec name: (_) @name)) @declaration
(const_declaration (const_spec name: (_) @name)) @declaration
(var_declaration (var_spec name: (_) @name)) @declaration
