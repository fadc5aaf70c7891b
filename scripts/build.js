#!/usr/bin/env node
// Builds dist/, schemas/, oclif.manifest.json and numbers for Python. Output without a source is removed, so that no
// stale command or module is found.
import {execFileSync} from 'node:child_process'
import {existsSync, readdirSync, renameSync, rmSync, writeFileSync} from 'node:fs'
import {createRequire} from 'node:module'
import {join} from 'node:path'
import {fileURLToPath, pathToFileURL} from 'node:url'
import {replaceFolder} from './aside.js'
import {bundle} from './bundle.js'
import {writeGradients} from './gradients.js'
import {writePage} from './page.js'
import {writeSobolDirections} from './sobol-directions.js'

const root = fileURLToPath(new URL('..', import.meta.url))

if (installedByNpx() && existsSync(join(root, 'dist', 'program.json'))) process.exit()
compile()
removeOrphans('src')
removeOrphans('commands')
removeOrphans('bench')
await bundle(root)
await writePage(root)
await writeGradients(root)
writeSobolDirections(root)
await writeSchemas()
await writeManifest()

/** The first `npx rfa` in a checkout installs it into a cache of npm, by a link: what is built there is built. */
function installedByNpx() {
  return process.env.npm_lifecycle_event === 'prepare' && process.env.npm_command === 'exec'
}

function compile() {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  if (!existsSync(join(root, 'dist'))) rmSync(join(root, 'dist/.tsbuildinfo'), {force: true})
  try {
    execFileSync(process.execPath, [tsc, '-p', 'tsconfig.json'], {cwd: root, stdio: 'inherit'})
  } catch {
    process.exit(1) // the compiler has said why
  }
}

/** Deletes files under dist/ that no source file produces, source maps of earlier builds among them. */
function removeOrphans(folder) {
  const output = join(root, 'dist', folder)
  if (!existsSync(output)) return
  for (const entry of readdirSync(output, {recursive: true, withFileTypes: true})) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    const stem = file.slice(join(root, 'dist').length + 1).replace(/(\.d\.ts|\.js)(\.map)?$/, '')
    if (file.endsWith('.map') || !existsSync(join(root, `${stem}.ts`))) rmSync(file)
  }
}

/** Writes the JSON Schemas of all files and of what `--json` prints. */
async function writeSchemas() {
  const module = pathToFileURL(join(root, 'dist/src/cli/json-schemas.js')).href
  const {jsonSchemas} = await import(module)
  await replaceFolder(join(root, 'schemas'), async folder => {
    for (const [name, schema] of Object.entries(await jsonSchemas())) {
      writeFileSync(join(folder, name), `${JSON.stringify(schema)}\n`)
    }
  })
}

/** Writes the manifest that spares `--help` loading every command; each build renews it. */
async function writeManifest() {
  const {Plugin} = await import('@oclif/core')
  const plugin = new Plugin({root, ignoreManifest: true})
  await plugin.load()
  const file = join(root, 'oclif.manifest.json')
  writeFileSync(`${file}.next`, JSON.stringify(plugin.manifest))
  renameSync(`${file}.next`, file)
}
