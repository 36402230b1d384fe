; Files are included whole; `using` binds @name to @symbol of @module, or opens a namespace.
(preproc_include path: (_) @module)
(using_declaration (qualified_identifier scope: (_) @module name: (_) @symbol @name))
