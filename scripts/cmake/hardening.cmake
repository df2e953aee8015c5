# Compiler and linker flags that make an overwritten stack, a too short buffer or a forged jump end
# the process instead of being of use. tests/system/test_hardened.py reads them off the programs.
#
# A packager's CFLAGS come first and stay: what they choose about _FORTIFY_SOURCE is not chosen
# again here. Builds with sanitizers or libFuzzer have checks of their own, and none of this.

option(AX_HARDEN "Build with the flags of scripts/cmake/hardening.cmake" ON)
if(NOT AX_HARDEN OR AX_SANITIZE OR AX_FUZZ)
    return()
endif()

include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckLinkerFlag)

set(jumps)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64|i.86)$")
    set(jumps -fcf-protection=full)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    set(jumps -mbranch-protection=standard)
endif()
# Flags that the compiler does not know are left out.
foreach(flag -fstack-protector-strong -fstack-clash-protection ${jumps})
    string(MAKE_C_IDENTIFIER "AX_HAS${flag}" known)
    check_c_compiler_flag(${flag} ${known})
    if(${known})
        add_compile_options(${flag})
    endif()
endforeach()
add_compile_options(-Wformat=2)

# Checks of buffers whose size the compiler knows. They need optimization, and level 3 a compiler
# and a libc that have it. The check is compiled as the programs are.
if(NOT "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${CMAKE_BUILD_TYPE}}" MATCHES "_FORTIFY_SOURCE")
    set(CMAKE_TRY_COMPILE_CONFIGURATION ${CMAKE_BUILD_TYPE})
    foreach(level 3 2)
        set(CMAKE_REQUIRED_FLAGS "-Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${level}")
        check_c_source_compiles("#include <stdio.h>
            #ifndef __OPTIMIZE__
            #error not optimized
            #endif
            int main(void) { return puts(\"\") < 0; }" AX_HAS_FORTIFY_${level})
        unset(CMAKE_REQUIRED_FLAGS)
        if(AX_HAS_FORTIFY_${level})
            add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${level})
            break()
        endif()
    endforeach()
endif()

# Programs that the kernel loads anywhere. Not by CMAKE_POSITION_INDEPENDENT_CODE: that compiles
# static libraries as if for shared ones, where less can be inlined.
set(shared $<IN_LIST:$<TARGET_PROPERTY:TYPE>,SHARED_LIBRARY$<SEMICOLON>MODULE_LIBRARY>)
add_compile_options($<$<NOT:${shared}>:-fPIE>)
add_link_options($<$<NOT:${shared}>:-pie>)

# Tables of the linker are read-only before main begins; no segment is both written and run.
foreach(flag -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,-z,separate-code)
    string(MAKE_C_IDENTIFIER "AX_HAS${flag}" known)
    check_linker_flag(C ${flag} ${known})
    if(${known})
        add_link_options(${flag})
    endif()
endforeach()
