(method name: (_) @name) @declaration
(singleton_method name: (_) @name) @declaration
(class name: (_) @name) @declaration
(module name: (_) @name) @declaration
(assignment left: (constant) @name) @declaration
