#!/usr/bin/env node
// Builds the site of docs/ into docs/.vitepress/dist, or serves it while it is written: node scripts/docs.js build|dev.
// What is known elsewhere is written anew each time, into docs/reference: methods, projections and records from the
// registries, schemas, and the library from the declarations of the built package. Warnings are errors.
import {spawnSync} from 'node:child_process'
import {existsSync, rmSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {SECTIONS} from '../docs/.vitepress/sections.js'
import {writeReference} from './docs/reference.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const mode = process.argv[2] ?? 'build'
const pages = join(root, 'docs', 'reference')

rmSync(pages, {recursive: true, force: true})
await writeReference(root, pages)
run('typedoc/bin/typedoc', ['--options', join(root, 'docs', '.vitepress', 'typedoc.json')])
run('vitepress/bin/vitepress.js', [mode, join(root, 'docs')])

// VitePress checks links of pages, not those of the sidebar
const paths = SECTIONS.flatMap(({pages: own}) => own.map(([path]) => path))
const missing = paths.filter(path => !existsSync(join(root, 'docs', `${path}.md`)))
if (missing.length > 0) fail(`pages of docs/.vitepress/sections.js that do not exist: ${missing}`)

/** Ends this program where another fails, or warns while the site is built. */
function run(script, argv) {
  const program = join(root, 'node_modules', script)
  const stdio = mode === 'build' ? 'pipe' : 'inherit'
  const options = {cwd: root, stdio, encoding: 'utf8'}
  const {status, stdout, stderr} = spawnSync(process.execPath, [program, ...argv], options)
  const said = `${stdout ?? ''}${stderr ?? ''}`
  process.stdout.write(said)
  if (status !== 0 || /\(!\)|warn/i.test(said)) fail(`${script} failed or warned`)
}

function fail(message) {
  process.stderr.write(`docs: ${message}\n`)
  process.exit(1)
}
