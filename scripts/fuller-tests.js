#!/usr/bin/env node
// Prints the test files that `npm test` has not run in their full form: those outside of its folders, and those that
// reach `test/helpers/effort.ts` by their imports, which do more where RFA_FULL is set.
import {existsSync, readdirSync, readFileSync} from 'node:fs'
import {dirname, join} from 'node:path'
import {fileURLToPath} from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Folders that scripts of their own run, as they take what must be started first. */
const APART = [join('test', 'slurm')]
const EFFORT = join('test', 'helpers', 'effort.ts')
/** Of `from './a.js'`, `import './a.js'` and `import('./a.js')`. */
const IMPORT = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g

const quick = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  .scripts.test.split(' ')
  .filter(word => word.startsWith('test/'))
const files = readdirSync(join(root, 'test'), {recursive: true})
  .filter(name => name.endsWith('.test.ts'))
  .map(name => join('test', name))
const isQuick = file => quick.some(folder => file.startsWith(join(folder, '/')))
const isApart = file => APART.some(folder => file.startsWith(join(folder, '/')))
const fuller = files.filter(file => !isApart(file) && (!isQuick(file) || reachesEffort(file)))
process.stdout.write(`${fuller.join('\n')}\n`)

/** Whether a file is `effort.ts` or imports it, be it by others. */
function reachesEffort(file, seen = new Set()) {
  if (file === EFFORT) return true
  if (seen.has(file) || !file.startsWith('test')) return false
  seen.add(file)
  return importsOf(file).some(imported => reachesEffort(imported, seen))
}

/** Modules that a module imports; a test may have a program in a string, whose imports are no files. */
function importsOf(file) {
  if (!file.endsWith('.ts')) return []
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(IMPORT)]
    .map(([, path]) => join(dirname(file), path.replace(/\.js$/, '.ts')))
    .filter(path => existsSync(join(root, path)))
}
