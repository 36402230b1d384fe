; @name is bound: to @symbol of @module.
(use_declaration argument: (scoped_identifier path: (_) @module name: (_) @symbol @name))
(use_declaration argument: (use_as_clause path: (scoped_identifier path: (_) @module name: (_) @symbol) alias: (_) @name))
(use_declaration argument: (identifier) @module @name)
(use_declaration argument: (scoped_use_list path: (_) @module list: (use_list (identifier) @symbol @name)))
(use_declaration argument: (scoped_use_list path: (_) @module
  list: (use_list (use_as_clause path: (identifier) @symbol alias: (_) @name))))
(use_declaration argument: (use_wildcard (_) @module))
