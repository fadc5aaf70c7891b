// Puts what `rfa` itself runs into a few files: Node takes about half a millisecond to find, read and link one, and a run
// would load some eight hundred in its two processes. The library, dist/src, stays as it was compiled.
import {copyFileSync, readdirSync, readFileSync, writeFileSync} from 'node:fs'
import {basename, dirname, isAbsolute, join} from 'node:path'
import {rolldown} from 'rolldown'
import {replaceFolder} from './aside.js'

/** What starts a process or is looked up by its name, and the doors that plug-ins enter by. */
const ENTRIES = [
  'src/attention/index.js',
  'src/cli/help/help.js',
  'src/cli/help/root-help.js',
  'src/cli/program/main.js',
  'src/index.js',
  'src/plugins/hooks.js',
  'src/runner/workers/prestarted-worker.js',
  'src/runner/workers/parent-watch.js',
  'src/runner/workers/worker.js',
]

/** Packages of which the program holds what it uses: each is large, or many files, and the program needs a small part of it. */
const HELD = ['csv-stringify', 'fastest-levenshtein', 'hyparquet', 'hyparquet-writer', 'zod']

/** The same of what reads command lines, with the packages that it needs. */
const OCLIF = '@oclif/core'

/** What it asks for only in a package that is not compiled. */
const COMPILER = 'typescript'

/** A file of a package, by the folder of the package. */
const PACKAGE = /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/

/** What is loaded together is one file; the rest is divided by who needs it. */
const GROUPS = [
  {name: 'method-names', test: /attention[\\/]estimators[\\/]index\.js$/},
  {name: 'oclif', test: isOfOclif},
  {name: 'zod', test: /node_modules[\\/]zod[\\/]/},
  {name: 'estimators', test: /attention[\\/](estimators[\\/](?!index)|forms[\\/](?!estimator))/},
  {name: 'kernels', test: /attention[\\/]kernels[\\/]/},
  {name: 'projections', test: /attention[\\/]projections[\\/]source/},
  {name: 'native', test: /backends[\\/](native[\\/](?!loader|prebuilt)|check)/},
  {name: 'commands', test: /cli[\\/]program[\\/](command-groups|typed)\.js$/},
  // what every command loads, and plug-ins too
  {
    name: 'tf',
    test: /src[\\/]((tf|host-loops)\.js|random[\\/]|stats[\\/]normal\.js|attention[\\/](check-tensor|projections[\\/]redraw|forms[\\/]estimator)\.js|backends[\\/]threads\.js)/,
  },
  {
    name: 'run-directory',
    test: /results[\\/](folder[\\/](run-directory|plugins)|journal[\\/]plan-)/,
  },
]

/** Exports all of zod, which only plug-ins need: it takes the package itself, a hundred files, and nothing else passes by it. */
const DOOR = /[\\/]attention[\\/]index\.js$/

/** What only gives names of other modules: who asks for one of them loads no other. */
const DOORS = /[\\/]attention[\\/](index|names)\.js$/

/**
 * Writes dist/program from dist/src and dist/commands. Of other packages only what it uses of HELD comes along, with
 * their licences. Plug-ins that ask for zod get the package.
 *
 * @param root - folder of the package
 */
export function bundle(root) {
  const dist = join(root, 'dist')
  const list = join(dist, 'program.json')
  return replaceFolder(join(dist, 'program'), output => writeProgram(dist, output), {list})
}

/** The package that a module is of, such as `@oclif/core`. Default: none */
function packageOf(module) {
  const folder = PACKAGE.exec(module)?.[1]
  if (folder === undefined) return undefined
  const [scope, name] = [basename(dirname(folder)), basename(folder)]
  return {folder, name: scope.startsWith('@') ? `${scope}/${name}` : name}
}

function isOfOclif(module) {
  const name = packageOf(module)?.name
  return name !== undefined && !HELD.includes(name)
}

/** Whether a module is left to the package that it is of. @param importer - what asks for it */
function isOutside(id, importer = '') {
  if (id.startsWith('.') || isAbsolute(id)) return false
  if (packageOf(importer)) return id === COMPILER
  const held = [OCLIF, ...HELD].some(name => id === name || id.startsWith(`${name}/`))
  return !held || DOOR.test(importer)
}

async function writeProgram(dist, output) {
  const commands = readdirSync(join(dist, 'commands'))
    .filter(name => name.endsWith('.js'))
    .map(name => `commands/${name}`)
  const entries = [...ENTRIES, ...commands]
  const program = await rolldown({
    input: Object.fromEntries(entries.map(file => [file.replace(/\.js$/, ''), join(dist, file)])),
    platform: 'node',
    treeshake: {moduleSideEffects: [{test: DOORS, sideEffects: false}]},
    preserveEntrySignatures: 'allow-extension',
    external: (id, importer) => isOutside(id, importer),
    transform: {define: {__dirname: 'import.meta.dirname'}},
  })
  const {output: chunks} = await program.write({
    dir: output,
    entryFileNames: '[name].js',
    chunkFileNames: 'parts/[name]-[hash].js',
    // a third of the program is comments and indentation; names stay, for the traces of errors
    minify: {compress: false, mangle: false, codegen: {removeWhitespace: true}},
    codeSplitting: {includeDependenciesRecursively: false, groups: GROUPS},
  })
  await program.close()
  writeLicences(
    join(output, 'parts'),
    chunks.flatMap(({moduleIds = []}) => moduleIds.flatMap(id => packageOf(id) ?? [])),
  )
}

/** Writes the licences of what the program holds: one file for each package, and one for all that oclif brings. */
function writeLicences(output, packages) {
  const folders = new Map(packages.map(({folder, name}) => [name, folder]))
  for (const name of HELD)
    copyFileSync(licenceOf(folders.get(name)), join(output, `${name}-LICENSE`))
  const brought = [...folders].filter(([name]) => !HELD.includes(name)).sort()
  const texts = brought.map(
    ([name, folder]) => `${name}\n\n${readFileSync(licenceOf(folder), 'utf8')}`,
  )
  writeFileSync(join(output, 'oclif-LICENSES'), texts.join('\n\n'))
}

/** The file of a package with its licence. */
function licenceOf(folder) {
  const name = readdirSync(folder).find(file => /^licen[cs]e/i.test(file))
  if (name === undefined) throw new Error(`bundle: expected a licence in ${folder}, got none`)
  return join(folder, name)
}
