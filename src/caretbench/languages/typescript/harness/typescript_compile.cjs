// Type-checks and compiles TypeScript programs, one after the other, for as long as it is asked to.
//
// usage: node -e "..." -- TYPESCRIPT MODULES CPU_SECONDS [NATIVE]
//
// TYPESCRIPT is the compiler's package folder, MODULES the folder that holds `node_modules`, NATIVE the package folder of the
// native compiler (7), which checks types if it is given: with the emission 45 ms of CPU a program instead of 78. It emits nothing by its API,
// so the JavaScript is TypeScript 5.9's. Of 1,111 programs of DevBench (references and answers of two models) both find the
// same errors, and the JavaScript of a text alone is that of the whole program. A request on standard input is
// a line "ID - BYTES" and so many bytes of program text. {"ready": true} is printed first, then one JSON line per program:
// {"id", "kind", "missing", "diagnostics", "seconds", "memory_mb", "files"}. The files, in base64, are program.js, and
// where the checker objects to the program, what it says in objections.json: {"kind", "diagnostics"}; lines.json contains for
// every line of program.js the first and the last line of the program that it was made of, or null. Parsed and bound
// library files are shared; programs never see each other, as each has a program and a checker of its own.
"use strict";
const fs = require("fs");
const path = require("path");
const { Worker } = require("worker_threads");

const [typescript, modules, cpuSeconds, nativeFolder] = process.argv.slice(1);
const ts = require(path.join(typescript, "lib", "typescript.js"));

const MODULE_NOT_FOUND = new Set([2307, 2792, 7016]);
const TYPE_LIBRARY_NOT_FOUND = 2688; // a package of @types that holds no types: no fault of the program
// All errors that only isolated modules have. Where the JavaScript depends on other files (a type that is exported again, a
// constant of a library's `const enum`), the native compiler says so by one; TypeScript 5.9 then compiles the whole program.
const NOT_ISOLATED = new Set([1205, 1269, 1272, 1280, 1281, 2748, 2865, 2866, 18055, 18056, 18057]);

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

// CPU time in microseconds of this process and of the native compiler's, which the kernel counts in hundredths of a second.
// Throws where the native compiler has died (it stays a zombie, as nobody waits for it), and so ends this server.
// At the level landlock no other process can be read: there the limits of the process alone bound the compiler.
function usedCpu(pid) {
    const { user, system } = process.cpuUsage();
    if (!pid) return user + system;
    let stat;
    try {
        stat = fs.readFileSync(`/proc/${pid}/stat`, "latin1");
    } catch (error) {
        if (error.code === "EACCES") return user + system;
        throw error;
    }
    const fields = stat.split(") ").pop().split(" ");
    if (fields[0] === "Z") throw new Error("the native compiler has died");
    return user + system + (Number(fields[11]) + Number(fields[12])) * 1e4;
}

function watch(native) {
    new Worker(
        `const { workerData: [clock, current, limit, pid] } = require("worker_threads");
         const fs = require("fs");
         ${usedCpu}
         setInterval(() => {
             if (!clock[1] || usedCpu(pid) - clock[0] < limit * 1e6) return;
             const id = Buffer.from(current).toString("latin1").replace(/\\0/g, "");
             fs.writeSync(1, JSON.stringify({ id, kind: "timeout", seconds: limit }) + "\\n");
             process.kill(process.pid, "SIGKILL");
         }, 200);`,
        { eval: true, workerData: [clock, current, Number(cpuSeconds), native && native.pid] },
    ).unref();
}

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

// TypeScript 5.9 on the whole program.
function compileWhole(text) {
    programText = text;
    const parsed = (program = ts.createSourceFile(programPath, text, options.target));
    const whole = ts.createProgram({ rootNames: [programPath], options, host });
    const syntax = whole.getSyntacticDiagnostics(parsed);
    if (syntax.length > 0) return { kind: "syntax", diagnostics: render(syntax) };
    const found = [
        ...whole.getOptionsDiagnostics(),
        ...whole.getGlobalDiagnostics(),
        ...whole.getSemanticDiagnostics(parsed),
    ];
    return answer(found, (keep) => whole.emit(parsed, keep));
}

// Compiles a text with the native compiler's types; null where its JavaScript depends on other files.
function compileIsolated(native, text) {
    const { syntax, found } = native.check(text);
    const parse = memo(() => ts.createSourceFile(programPath, text, options.target));
    const readable = (list) => list.map((one) => asDiagnostic(one, parse));
    if (syntax.length > 0) return { kind: "syntax", diagnostics: render(readable(syntax)) };
    if (found.some(({ code }) => NOT_ISOLATED.has(code))) return null;
    return answer(readable(found), (keep) => {
        const made = ts.transpileModule(text, { fileName: programPath, compilerOptions: options });
        keep("program.js", made.outputText);
        keep("program.js.map", made.sourceMapText);
    });
}

function answer(diagnosed, emit) {
    const found = diagnosed.filter(
        (one) => one.category === ts.DiagnosticCategory.Error && one.code !== TYPE_LIBRARY_NOT_FOUND,
    );
    const files = {};
    emit((name, content) => {
        const map = name.endsWith(".map");
        const text = map ? JSON.stringify(origins(JSON.parse(content).mappings)) : content.replace(MAP_COMMENT, "");
        files[map ? "lines.json" : path.basename(name)] = Buffer.from(text).toString("base64");
    });
    const unresolved = found.filter((one) => MODULE_NOT_FOUND.has(one.code));
    const missing = unresolved.length > 0 ? moduleName(unresolved[0]) : null;
    const kind = found.length === 0 ? "ok" : unresolved.length === found.length ? "module" : "type";
    const diagnostics = words(render(found));
    if (kind !== "ok") files["objections.json"] = Buffer.from(JSON.stringify({ kind, diagnostics })).toString("base64");
    return { kind, missing, diagnostics, files };
}

// The native compiler's message in the form of TypeScript 5.9's, which prints both.
function asDiagnostic(one, parse) {
    const chain = (message) => ({ messageText: message.text, code: message.code, next: (message.messageChain ?? []).map(chain) });
    const file = one.fileName && isProgram(one.fileName) ? parse() : undefined;
    return { file, start: one.pos, length: one.end - one.pos, category: one.category, code: one.code, messageText: chain(one) };
}

// Starts the native compiler, which reads the program's text from here and the libraries from their folders.
async function startNative(folder) {
    const { API } = await import(path.join(folder, "dist", "api", "sync", "api.js"));
    const config = path.join(modules, "tsconfig.json");
    const settings = JSON.stringify({
        compilerOptions: {
            target: "es2020",
            module: "commonjs",
            esModuleInterop: true,
            allowSyntheticDefaultImports: true,
            skipLibCheck: true,
            strict: false, // true by default since version 6
            isolatedModules: true,
            types: ["*"], // none by default since version 6
        },
        files: ["program.ts"],
    });
    let current = "";
    const own = (name) => (isProgram(name) ? current : name === config ? settings : undefined);
    const readFile = (name) => own(name);
    const api = new API({ cwd: modules, fs: { readFile, fileExists: (name) => own(name) !== undefined || undefined } });
    let last = null;
    const check = (text) => {
        current = text;
        const snapshot = api.updateSnapshot(
            last ? { fileChanges: { changed: [programPath] } } : { openProjects: [config] },
        );
        const { program } = snapshot.getProject(config);
        const syntax = program.getSyntacticDiagnostics(programPath);
        const found = [];
        if (syntax.length === 0) {
            found.push(...program.getProgramDiagnostics(), ...program.getGlobalDiagnostics());
            found.push(...program.getSemanticDiagnostics(programPath));
        }
        if (last) last.dispose();
        last = snapshot;
        return { syntax, found };
    };
    return { check, pid: api.client.channel.child.pid };
}

const render = (list) => ts.formatDiagnostics(list, formatHost);

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

function memoryMb(pid) {
    let pages = 0;
    try {
        if (pid) pages = Number(fs.readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1]);
    } catch (error) {
        if (error.code !== "EACCES") throw error;
    }
    return (process.memoryUsage.rss() + pages * 4096) / 1e6;
}

function compile(native, text) {
    try {
        return (native && attempt(() => compileIsolated(native, text))) || compileWhole(text);
    } catch (error) {
        return { kind: "crash", diagnostics: String((error && error.stack) || error) };
    }
}

// Where the native compiler fails, TypeScript 5.9 decides.
function attempt(call) {
    try {
        return call();
    } catch {
        return null;
    }
}

async function main() {
    const native = nativeFolder ? await startNative(nativeFolder) : null;
    const pid = native && native.pid;
    watch(native);
    say({ ready: true });
    while (true) {
        const [id, , size] = readHeader();
        const text = readExactly(Number(size)).toString("utf8");
        Buffer.from(current.buffer).write(id);
        const before = (clock[0] = usedCpu(pid));
        clock[1] = 1;
        const result = compile(native, text);
        clock[1] = 0;
        const seconds = (usedCpu(pid) - before) / 1e6;
        const diagnostics = words(result.diagnostics);
        say({ ...result, id, diagnostics, seconds, memory_mb: memoryMb(pid) });
    }
}

main();
