# Writes OUT, a C file with the text of every file in FILES as stream_plan_assets[]
# (bus/provision/stream_plan.h).
set(code "/* Made from streams/ by scripts/cmake/assets.cmake. */\n")
string(APPEND code "#include \"bus/provision/stream_plan.h\"\n\n")
string(APPEND code "const struct stream_plan_asset stream_plan_assets[] = {\n")
set(count 0)
foreach(file ${FILES})
    get_filename_component(name "${file}" NAME_WE)
    file(READ "${file}" text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n\"\n     \"" text "${text}")
    string(APPEND code "    {\"${name}\",\n     \"${text}\"},\n")
    math(EXPR count "${count} + 1")
endforeach()
# ISO C has no empty array: an entry that is not counted.
string(APPEND code "    {0, 0},\n};\nconst int stream_plan_asset_count = ${count};\n")
file(WRITE "${OUT}" "${code}")
