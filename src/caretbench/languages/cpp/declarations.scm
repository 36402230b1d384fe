(class_specifier name: (_) @name body: (_)) @declaration
(struct_specifier name: (_) @name body: (_)) @declaration
(union_specifier name: (_) @name body: (_)) @declaration
(enum_specifier name: (_) @name body: (_)) @declaration
(namespace_definition name: (_) @name) @declaration
(function_declarator declarator: (_) @name) @declaration
