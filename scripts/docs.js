#!/usr/bin/env node
// Builds the site of docs/ into docs/.vitepress/dist, or serves it while it is written: node scripts/docs.js build|dev.
// What is known elsewhere is written anew each time, into docs/reference: commands, methods, projections and records from
// the built program, schemas, and the library from the declarations of the built package. Both folders are made aside and
// put in their place at the end. Warnings and links to nowhere are errors.
import {spawnSync} from 'node:child_process'
import {existsSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {SECTIONS} from '../docs/.vitepress/sections.js'
import {replaceFolder} from './aside.js'
import {brokenAnchors} from './docs/anchors.js'
import {writeReference} from './docs/reference.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const docs = join(root, 'docs')
const mode = process.argv[2] ?? 'build'

await replaceFolder(join(docs, 'reference'), async folder => {
  await writeReference(root, folder)
  const options = join(docs, '.vitepress', 'typedoc.json')
  run('typedoc/bin/typedoc', ['--options', options, '--out', join(folder, 'api')])
})

// VitePress checks links of pages, not those of the sidebar
const paths = SECTIONS.flatMap(({pages: own}) => own.map(([path]) => path))
const missing = paths.filter(path => !existsSync(join(docs, `${path}.md`)))
if (missing.length > 0) fail(`pages of docs/.vitepress/sections.js that do not exist: ${missing}`)

if (mode === 'build') {
  await replaceFolder(join(docs, '.vitepress', 'dist'), folder => {
    run('vitepress/bin/vitepress.js', ['build', docs, '--outDir', folder])
    const broken = brokenAnchors(folder, process.env.RFA_DOCS_BASE ?? '/')
    if (broken.length > 0) fail(`links to places that do not exist:\n${broken.join('\n')}`)
  })
} else {
  run('vitepress/bin/vitepress.js', [mode, docs])
}

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
