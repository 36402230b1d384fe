; @name is bound: to @symbol of @module.
(package_declaration (_) @package)
(import_declaration (scoped_identifier scope: (_) @module name: (_) @symbol @name) . ";")
(import_declaration (_) @module (asterisk))
