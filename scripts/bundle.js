// Puts what `rfa` itself runs into a few files: Node takes about half a millisecond to find, read and link one, and a run
// would load some eight hundred in its two processes. The library, dist/src, stays as it was compiled.
import {copyFileSync, readdirSync} from 'node:fs'
import {isAbsolute, join} from 'node:path'
import {rolldown} from 'rolldown'
import {replaceFolder} from './aside.js'

/** What starts a process or is looked up by its name, and the doors that plug-ins enter by. */
const ENTRIES = [
  'src/attention/index.js',
  'src/cli/help/help.js',
  'src/cli/program/main.js',
  'src/index.js',
  'src/plugins/hooks.js',
  'src/runner/workers/prestarted-worker.js',
  'src/runner/workers/parent-watch.js',
  'src/runner/workers/worker.js',
]

/** Packages of which the program holds what it uses: each is large, and the program needs a small part of it. */
const HELD = ['csv-stringify', 'hyparquet', 'hyparquet-writer', 'zod']

/** What is loaded together is one file; the rest is divided by who needs it. */
const GROUPS = [
  {name: 'zod', test: /node_modules[\\/]zod[\\/]/},
  {name: 'estimators', test: /attention[\\/](estimators[\\/](?!index)|forms[\\/](?!estimator))/},
  {name: 'kernels', test: /attention[\\/]kernels[\\/]/},
  {name: 'projections', test: /attention[\\/]projections[\\/]source/},
  {name: 'native', test: /backends[\\/](native[\\/](?!loader|prebuilt)|check)/},
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

async function writeProgram(dist, output) {
  const commands = readdirSync(join(dist, 'commands'))
    .filter(name => name.endsWith('.js'))
    .map(name => `commands/${name}`)
  const entries = [...ENTRIES, ...commands]
  const program = await rolldown({
    input: Object.fromEntries(entries.map(file => [file.replace(/\.js$/, ''), join(dist, file)])),
    platform: 'node',
    treeshake: {moduleSideEffects: [{test: DOOR, sideEffects: false}]},
    preserveEntrySignatures: 'allow-extension',
    external: (id, importer) =>
      !id.startsWith('.') &&
      !isAbsolute(id) &&
      (!HELD.includes(id.split('/')[0]) || DOOR.test(importer ?? '')),
  })
  await program.write({
    dir: output,
    entryFileNames: '[name].js',
    chunkFileNames: 'parts/[name]-[hash].js',
    // a third of the program is comments and indentation; names stay, for the traces of errors
    minify: {compress: false, mangle: false, codegen: {removeWhitespace: true}},
    codeSplitting: {includeDependenciesRecursively: false, groups: GROUPS},
  })
  await program.close()
  for (const name of HELD) {
    const licence = join(dist, '..', 'node_modules', name, 'LICENSE')
    copyFileSync(licence, join(output, 'parts', `${name}-LICENSE`))
  }
}
