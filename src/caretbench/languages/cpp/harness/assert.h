/* First on the include path: assertions hold whatever NDEBUG says; the macro itself stays as the program set it. */
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include_next <assert.h>
#pragma pop_macro("NDEBUG")
