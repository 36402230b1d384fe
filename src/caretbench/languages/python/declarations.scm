(function_definition name: (_) @name) @declaration
(class_definition name: (_) @name) @declaration
