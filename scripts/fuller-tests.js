#!/usr/bin/env node
// Prints the test files that `npm test` does not run in their full form: those that reach `test/helpers/effort.ts` by their
// imports, which do more where RFA_FULL is set.
//
//   node scripts/fuller-tests.js methods     those of estimators and kernels
//   node scripts/fuller-tests.js program     all others
import {existsSync, readdirSync, readFileSync} from 'node:fs'
import {dirname, join} from 'node:path'
import {fileURLToPath} from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const METHODS = ['conformance', 'property', 'golden', 'unit/attention', 'unit/check']
const PROGRAM = ['cli', 'faults', 'fuzz', 'project', 'unit']
const EFFORT = join('test', 'helpers', 'effort.ts')
/** Of `from './a.js'`, `import './a.js'` and `import('./a.js')`. */
const IMPORT = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g

const part = process.argv[2]
if (part !== 'methods' && part !== 'program') {
  process.stderr.write(`expected \`methods\` or \`program\`, got ${part ?? 'nothing'}\n`)
  process.exit(2)
}
const within = folders => file => folders.some(folder => file.startsWith(join('test', folder, '/')))
const isOfMethods = within(METHODS)
const isWanted =
  part === 'methods' ? isOfMethods : file => within(PROGRAM)(file) && !isOfMethods(file)
const files = readdirSync(join(root, 'test'), {recursive: true})
  .filter(name => name.endsWith('.test.ts'))
  .map(name => join('test', name))
  .filter(file => isWanted(file) && reachesEffort(file))
process.stdout.write(`${files.join('\n')}\n`)

/** Whether a file is `effort.ts` or imports it, be it by others. */
function reachesEffort(file, seen = new Set()) {
  if (file === EFFORT) return true
  if (seen.has(file) || !file.startsWith('test')) return false
  seen.add(file)
  return importsOf(file).some(imported => reachesEffort(imported, seen))
}

/** Modules that a module imports; a test may have a program in a string, with imports that are not files. */
function importsOf(file) {
  if (!file.endsWith('.ts')) return []
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(IMPORT)]
    .map(([, path]) => join(dirname(file), path.replace(/\.js$/, '.ts')))
    .filter(path => existsSync(join(root, path)))
}
