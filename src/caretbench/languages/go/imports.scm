; @name is bound to @module; without an alias, its last part.
(package_clause (_) @package)
(import_spec name: (package_identifier) @name path: (_) @module)
(import_spec !name path: (interpreted_string_literal (_) @name) @module)
(import_spec name: (dot) path: (_) @module)
