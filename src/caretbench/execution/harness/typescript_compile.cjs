// Type-checks and compiles many TypeScript programs in one process.
//
// usage: node -e "..." -- TYPESCRIPT MODULES WORK OUTPUT CPU_SECONDS COUNT
//
// TYPESCRIPT is the compiler's package folder, MODULES the folder that holds `node_modules`, WORK holds `0.source`,
// `1.source`, ...; program N is written to OUTPUT/N/program.js, and where the checker objects to it, what it says to
// OUTPUT/N/objections.json: {"kind", "diagnostics"}. One JSON line is printed per program:
// {"begin": N} before it and {"index", "kind", "missing", "diagnostics"} after it. Parsed library files are shared;
// programs never see each other, as each has a program and a checker of its own.
"use strict";
const fs = require("fs");
const path = require("path");
const { Worker } = require("worker_threads");

const [typescript, modules, work, output, cpuSeconds, count] = process.argv.slice(1);
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

const say = (value) => fs.writeSync(1, JSON.stringify(value) + "\n");

// The main thread cannot interrupt the checker, so a second thread watches the CPU time of the current program.
const clock = new Float64Array(new SharedArrayBuffer(16)); // [CPU time at its start in microseconds, its index]
new Worker(
    `const { workerData: [clock, limit] } = require("worker_threads");
     setInterval(() => {
         const { user, system } = process.cpuUsage();
         if (user + system - clock[0] < limit * 1e6) return;
         require("fs").writeSync(1, JSON.stringify({ index: clock[1], kind: "timeout", diagnostics: "" }) + "\\n");
         process.kill(process.pid, "SIGKILL");
     }, 200);`,
    { eval: true, workerData: [clock, Number(cpuSeconds)] },
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

function compile(index) {
    const text = fs.readFileSync(path.join(work, `${index}.source`), "utf8");
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
    const folder = path.join(output, String(index));
    const emit = () =>
        program.emit(parsed, (name, javascript) => {
            fs.mkdirSync(folder, { recursive: true });
            fs.writeFileSync(path.join(folder, path.basename(name)), javascript);
        });
    const render = (list) => ts.formatDiagnostics(list, formatHost);

    const syntax = program.getSyntacticDiagnostics(parsed);
    if (syntax.length > 0) return { kind: "syntax", diagnostics: render(syntax) };
    const found = [
        ...program.getOptionsDiagnostics(),
        ...program.getGlobalDiagnostics(),
        ...program.getSemanticDiagnostics(parsed),
    ].filter((one) => one.category === ts.DiagnosticCategory.Error && one.code !== TYPE_LIBRARY_NOT_FOUND);
    emit();
    const unresolved = found.filter((one) => MODULE_NOT_FOUND.has(one.code));
    const missing = unresolved.length > 0 ? moduleName(unresolved[0]) : null;
    const kind = found.length === 0 ? "ok" : unresolved.length === found.length ? "module" : "type";
    const diagnostics = words(render(found));
    if (kind !== "ok") fs.writeFileSync(path.join(folder, "objections.json"), JSON.stringify({ kind, diagnostics }));
    return { kind, missing, diagnostics };
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

for (let index = 0; index < Number(count); index++) {
    say({ begin: index });
    const { user, system } = process.cpuUsage();
    clock[1] = index;
    clock[0] = user + system;
    let result;
    try {
        result = compile(index);
    } catch (error) {
        result = { kind: "crash", diagnostics: String((error && error.stack) || error) };
    }
    const after = process.cpuUsage();
    const diagnostics = words(result.diagnostics);
    say({ ...result, index, diagnostics, seconds: (after.user + after.system - user - system) / 1e6 });
}
process.exit(0);
