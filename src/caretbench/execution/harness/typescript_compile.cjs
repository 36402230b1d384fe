// Type-checks and compiles TypeScript programs, one after the other, for as long as it is asked to.
//
// usage: node -e "..." -- TYPESCRIPT MODULES CPU_SECONDS
//
// TYPESCRIPT is the compiler's package folder, MODULES the folder that holds `node_modules`. A request on standard input is
// a line "ID - BYTES" and so many bytes of program text. {"ready": true} is printed first, then one JSON line per program:
// {"id", "kind", "missing", "diagnostics", "seconds", "memory_mb", "files"}. The files, in base64, are program.js, and
// where the checker objects to the program, what it says in objections.json: {"kind", "diagnostics"}. Parsed and bound
// library files are shared; programs never see each other, as each has a program and a checker of its own.
"use strict";
const fs = require("fs");
const path = require("path");
const { Worker } = require("worker_threads");

const [typescript, modules, cpuSeconds] = process.argv.slice(1);
const ts = require(path.join(typescript, "lib", "typescript.js"));

const MODULE_NOT_FOUND = new Set([2307, 2792, 7016]);
const TYPE_LIBRARY_NOT_FOUND = 2688; // a package of @types that holds no types: no fault of the program

const options = {
    target: ts.ScriptTarget.ES2020,
    module: ts.ModuleKind.CommonJS,
    esModuleInterop: true,
    allowSyntheticDefaultImports: true,
    skipLibCheck: true,
};

// What a program makes the compiler say: bounded, and text (a program may hold half a surrogate pair, and a cut makes one).
const words = (text) => text.slice(0, 4000).replace(/[\ud800-\udfff]/gu, "\ufffd");

const say = (value) => {
    let rest = Buffer.from(JSON.stringify(value) + "\n");
    while (rest.length > 0) rest = rest.subarray(fs.writeSync(1, rest));
};

// The main thread cannot interrupt the checker, so a second thread watches the CPU time of the current program.
const clock = new Float64Array(new SharedArrayBuffer(16)); // [CPU time at its start in microseconds, whether there is one]
const current = new Uint8Array(new SharedArrayBuffer(64)); // the program's id
new Worker(
    `const { workerData: [clock, current, limit] } = require("worker_threads");
     setInterval(() => {
         if (!clock[1]) return;
         const { user, system } = process.cpuUsage();
         if (user + system - clock[0] < limit * 1e6) return;
         const id = Buffer.from(current).toString("latin1").replace(/\\0/g, "");
         require("fs").writeSync(1, JSON.stringify({ id, kind: "timeout", seconds: limit }) + "\\n");
         process.kill(process.pid, "SIGKILL");
     }, 200);`,
    { eval: true, workerData: [clock, current, Number(cpuSeconds)] },
).unref();

const memo = (compute) => {
    const known = new Map();
    return (key) => {
        if (!known.has(key)) known.set(key, compute(key));
        return known.get(key);
    };
};

const shared = ts.createCompilerHost(options, true);
const libraryFile = memo((name) => shared.getSourceFile(name, options.target));
const fileExists = memo((name) => ts.sys.fileExists(name));
const directoryExists = memo((name) => ts.sys.directoryExists(name));
const realpath = memo((name) => (ts.sys.realpath ? ts.sys.realpath(name) : name));
const directories = memo((name) => ts.sys.getDirectories(name));
const readFile = memo((name) => ts.sys.readFile(name));
const programPath = path.join(modules, "program.ts");
const isProgram = (name) => path.resolve(name) === programPath;

function compile(text) {
    const parsed = ts.createSourceFile(programPath, text, options.target, true);
    const host = {
        ...shared,
        getCurrentDirectory: () => modules,
        getSourceFile: (name) => (isProgram(name) ? parsed : libraryFile(name)),
        fileExists: (name) => isProgram(name) || fileExists(name),
        readFile: (name) => (isProgram(name) ? text : readFile(name)),
        directoryExists,
        realpath,
        getDirectories: directories,
        writeFile: () => {},
    };
    const program = ts.createProgram({ rootNames: [programPath], options, host });
    const files = {};
    const keep = (name, content) => (files[path.basename(name)] = Buffer.from(content).toString("base64"));
    const render = (list) => ts.formatDiagnostics(list, formatHost);

    const syntax = program.getSyntacticDiagnostics(parsed);
    if (syntax.length > 0) return { kind: "syntax", diagnostics: render(syntax) };
    const found = [
        ...program.getOptionsDiagnostics(),
        ...program.getGlobalDiagnostics(),
        ...program.getSemanticDiagnostics(parsed),
    ].filter((one) => one.category === ts.DiagnosticCategory.Error && one.code !== TYPE_LIBRARY_NOT_FOUND);
    program.emit(parsed, keep);
    const unresolved = found.filter((one) => MODULE_NOT_FOUND.has(one.code));
    const missing = unresolved.length > 0 ? moduleName(unresolved[0]) : null;
    const kind = found.length === 0 ? "ok" : unresolved.length === found.length ? "module" : "type";
    const diagnostics = words(render(found));
    if (kind !== "ok") keep("objections.json", JSON.stringify({ kind, diagnostics }));
    return { kind, missing, diagnostics, files };
}

function moduleName(diagnostic) {
    const message = ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n");
    const named = /'([^']+)'/.exec(message);
    return named ? words(named[1]) : null;
}

const formatHost = {
    getCurrentDirectory: () => modules,
    getCanonicalFileName: (name) => name,
    getNewLine: () => "\n",
};

function readExactly(size) {
    const bytes = Buffer.alloc(size);
    for (let length = 0; length < size; ) {
        const more = fs.readSync(0, bytes, length, size - length);
        if (more === 0) process.exit(0);
        length += more;
    }
    return bytes;
}

function readHeader() {
    let line = "";
    for (let character = readExactly(1); character[0] !== 10; character = readExactly(1)) line += character.toString();
    return line.split(" ");
}

say({ ready: true });
while (true) {
    const [id, , size] = readHeader();
    const text = readExactly(Number(size)).toString("utf8");
    const before = process.cpuUsage();
    Buffer.from(current.buffer).write(id);
    clock[0] = before.user + before.system;
    clock[1] = 1;
    let result;
    try {
        result = compile(text);
    } catch (error) {
        result = { kind: "crash", diagnostics: String((error && error.stack) || error) };
    }
    clock[1] = 0;
    const after = process.cpuUsage(before);
    const diagnostics = words(result.diagnostics);
    const memory = process.memoryUsage.rss() / 1e6;
    say({ ...result, id, diagnostics, seconds: (after.user + after.system) / 1e6, memory_mb: memory });
}
