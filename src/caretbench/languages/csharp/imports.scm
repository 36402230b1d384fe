; Namespaces are opened whole, or @name is bound to a type, @module.
(using_directive name: (identifier) @name (_) @module)
(using_directive !name (_) @module)
