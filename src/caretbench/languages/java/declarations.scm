(class_declaration name: (_) @name) @declaration
(interface_declaration name: (_) @name) @declaration
(enum_declaration name: (_) @name) @declaration
(record_declaration name: (_) @name) @declaration
(annotation_type_declaration name: (_) @name) @declaration
(constructor_declaration name: (_) @name) @declaration
(compact_constructor_declaration name: (_) @name) @declaration
(method_declaration name: (_) @name) @declaration
