; @name is bound: to @module itself, or to @symbol of @module where there is one.
(import_statement name: (dotted_name . (identifier) @name) @module @dotted)
(import_statement name: (aliased_import name: (_) @module alias: (_) @name))
(import_from_statement module_name: (_) @module name: (dotted_name (identifier) @symbol @name))
(import_from_statement module_name: (_) @module name: (aliased_import name: (_) @symbol alias: (_) @name))
(import_from_statement module_name: (_) @module (wildcard_import) @wildcard)
