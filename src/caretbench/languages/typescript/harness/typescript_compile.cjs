// Type-checks and compiles TypeScript programs, one after the other, for as long as it is asked to.
//
// usage: node -e "..." -- TYPESCRIPT MODULES CPU_SECONDS
//
// TYPESCRIPT is the compiler's package folder, MODULES the folder that holds `node_modules`. A request on standard input is
// a line "ID - BYTES" and so many bytes of program text. {"ready": true} is printed first, then one JSON line per program:
// {"id", "kind", "missing", "diagnostics", "seconds", "memory_mb", "files"}. The files, in base64, are program.js, and
// where the checker objects to the program, what it says in objections.json: {"kind", "diagnostics"}; lines.json contains for
// every line of program.js the first and the last line of the program that it was made of, or null. Parsed and bound
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
    sourceMap: true,
};

// What a program makes the compiler say: bounded, and text (a program may hold half a surrogate pair, and a cut makes one).
const words = (text) => text.slice(0, 4000).replace(/[\ud800-\udfff]/gu, "\ufffd");

const pause = new Int32Array(new SharedArrayBuffer(4));
const say = (value) => {
    let rest = Buffer.from(JSON.stringify(value) + "\n");
    while (rest.length > 0) {
        try {
            rest = rest.subarray(fs.writeSync(1, rest));
        } catch (error) {
            if (error.code !== "EAGAIN") throw error;
            Atomics.wait(pause, 0, 0, 1); // Node.js has made the pipe one that does not wait, and it is full
        }
    }
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

const programPath = path.join(modules, "program.ts");
const isProgram = (name) => path.resolve(name) === programPath;
let programText = "";
let program = null; // its source file

// Libraries do not change: what is read of them, and where their imports lead, is the same for every program.
const shared = ts.createCompilerHost(options);
const libraryParsing = { languageVersion: options.target, jsDocParsingMode: ts.JSDocParsingMode.ParseForTypeErrors };
const libraryFile = memo((name) => shared.getSourceFile(name, libraryParsing));
const fileExists = memo((name) => ts.sys.fileExists(name));
const readFile = memo((name) => ts.sys.readFile(name));
const host = {
    ...shared,
    getCurrentDirectory: () => modules,
    getSourceFile: (name) => (isProgram(name) ? program : libraryFile(name)),
    fileExists: (name) => isProgram(name) || fileExists(name),
    readFile: (name) => (isProgram(name) ? programText : readFile(name)),
    directoryExists: memo((name) => ts.sys.directoryExists(name)),
    realpath: memo((name) => (ts.sys.realpath ? ts.sys.realpath(name) : name)),
    getDirectories: memo((name) => ts.sys.getDirectories(name)),
    writeFile: () => {},
};
options.types = ts.getAutomaticTypeDirectiveNames(options, host);

const imports = ts.createModuleResolutionCache(modules, shared.getCanonicalFileName, options);
const types = ts.createTypeReferenceDirectiveResolutionCache(
    modules,
    shared.getCanonicalFileName,
    options,
    imports.getPackageJsonInfoCache(),
);
const importsKnown = new Map();
const typesKnown = new Map();

function recall(known, file, name, mode, resolve) {
    const key = `${file}\n${mode}\n${name}`;
    if (!known.has(key)) known.set(key, resolve());
    return known.get(key);
}

host.resolveModuleNameLiterals = (literals, file, redirected, given, source) =>
    literals.map(({ text }, index) => {
        const mode = ts.getModeForUsageLocation(source, literals[index], given);
        return recall(importsKnown, file, text, mode, () =>
            ts.resolveModuleName(text, file, given, host, imports, redirected, mode),
        );
    });
host.resolveTypeReferenceDirectiveReferences = (references, file, redirected, given) =>
    references.map((reference) => {
        const name = typeof reference === "string" ? reference : reference.fileName;
        const mode = ts.getModeForFileReference(reference, undefined);
        return recall(typesKnown, file, name, mode, () =>
            ts.resolveTypeReferenceDirective(name, file, given, host, redirected, types, mode),
        );
    });

const MAP_COMMENT = /\r?\n?\/\/# sourceMappingURL=.*\s*$/;
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Of every line of a program that was compiled, the first and the last line that it was made of, counted from 1.
function origins(mappings) {
    let line = 1; // of the source; every segment says how far it is from the segment before it
    return mappings.split(";").map((segments) => {
        let found = null;
        for (const segment of segments.split(",")) {
            const values = numbers(segment);
            if (values.length < 4) continue; // made of nothing
            line += values[2];
            found = found ? [Math.min(found[0], line), Math.max(found[1], line)] : [line, line];
        }
        return found;
    });
}

// Numbers in base 64: five bits a digit and a sixth that says whether more follow; the lowest bit of all is the sign.
function numbers(segment) {
    const found = [];
    let value = 0;
    let shift = 0;
    for (const character of segment) {
        const digit = DIGITS.indexOf(character);
        value += (digit & 31) << shift;
        shift += 5;
        if (digit & 32) continue;
        found.push(value & 1 ? -(value >>> 1) : value >>> 1);
        value = shift = 0;
    }
    return found;
}

function compile(text) {
    programText = text;
    const parsed = (program = ts.createSourceFile(programPath, text, options.target));
    const whole = ts.createProgram({ rootNames: [programPath], options, host });
    const files = {};
    const keep = (name, content) => {
        const map = name.endsWith(".map");
        const text = map ? JSON.stringify(origins(JSON.parse(content).mappings)) : content.replace(MAP_COMMENT, "");
        files[map ? "lines.json" : path.basename(name)] = Buffer.from(text).toString("base64");
    };
    const render = (list) => ts.formatDiagnostics(list, formatHost);

    const syntax = whole.getSyntacticDiagnostics(parsed);
    if (syntax.length > 0) return { kind: "syntax", diagnostics: render(syntax) };
    const found = [
        ...whole.getOptionsDiagnostics(),
        ...whole.getGlobalDiagnostics(),
        ...whole.getSemanticDiagnostics(parsed),
    ].filter((one) => one.category === ts.DiagnosticCategory.Error && one.code !== TYPE_LIBRARY_NOT_FOUND);
    whole.emit(parsed, keep);
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
