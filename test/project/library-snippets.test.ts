/** Every TypeScript snippet of README and docs/library.md in a project: it compiles under strict, and runs. */
import {spawnSync} from 'node:child_process'
import {readFileSync, rmSync, writeFileSync} from 'node:fs'
import {createRequire} from 'node:module'
import {dirname, join} from 'node:path'
import {afterAll, beforeAll, describe, expect, it} from 'vitest'
import {FULL} from '../helpers/effort.js'
import {type Layout, projectWith, unpacked} from '../helpers/packed.js'

const DOCUMENTS = ['README.md', 'docs/library.md']
const SNIPPETS = DOCUMENTS.flatMap(file => {
  const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
  return [...text.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code!)
})
const TSC = createRequire(import.meta.url).resolve('typescript/bin/tsc')

interface Project {
  layout: Layout
  resolution: 'nodenext' | 'bundler'
  native?: boolean
  /** With the flags that `tsc --init` adds to strict, and declarations of packages looked into. */
  strictest?: boolean
}

/** Each takes some ten seconds: full runs only. */
const PROJECTS: Project[] = FULL
  ? [
      {layout: 'pnpm', resolution: 'nodenext'},
      {layout: 'pnpm', resolution: 'bundler', strictest: true},
      {layout: 'npm', resolution: 'nodenext', native: true, strictest: true},
      {layout: 'npm', resolution: 'bundler', native: true},
    ]
  : []

let packed: string
beforeAll(() => {
  if (PROJECTS.length > 0) packed = unpacked()
})
afterAll(() => {
  if (PROJECTS.length > 0) rmSync(dirname(packed), {recursive: true, force: true})
})

/** The shapes that comments beside `console.log` promise. */
function shapesOf(code: string): string[] {
  const lines = [...code.matchAll(/console\.log\(.*?\) \/\/ (.*)/g)]
  return lines
    .flatMap(([, said]) => said!.match(/\[[\d, ]+\]/g) ?? [])
    .map(text => text.replaceAll(' ', ''))
}

function run(cwd: string, argv: string[]) {
  const {status, stdout, stderr} = spawnSync(process.execPath, argv, {cwd, encoding: 'utf8'})
  return {status, said: stdout + stderr}
}

it('the documents have snippets', () => {
  expect(SNIPPETS.length).toBeGreaterThanOrEqual(6)
})

describe.each(PROJECTS)('in a project, $layout, $resolution, addon $native', project => {
  let folder: string
  let compiled: ReturnType<typeof run>
  beforeAll(() => {
    folder = projectWith(packed, project.layout, project.native ?? false)
    SNIPPETS.forEach((code, index) => {
      writeFileSync(join(folder, `snippet-${index}.ts`), code)
    })
    const module = project.resolution === 'bundler' ? 'esnext' : 'nodenext'
    const compilerOptions = {
      ...{strict: true, target: 'es2022', module, moduleResolution: project.resolution},
      ...(project.strictest && {noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true}),
      skipLibCheck: !project.strictest,
      types: [],
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({compilerOptions}))
    compiled = run(folder, [TSC, '-p', '.'])
  })
  afterAll(() => rmSync(folder, {recursive: true, force: true}))

  it('all snippets compile', () => {
    // declarations of TensorFlow.js are at odds with those of browsers in TypeScript 6
    const complaints = compiled.said.split('\n').filter(line => /error/.test(line))
    const own = complaints.filter(line => /^snippet|[\\/]rfa[\\/]/.test(line))
    expect(own).toEqual([])
    if (!project.strictest) expect(compiled.status, compiled.said).toBe(0)
  })

  const files = SNIPPETS.map((_, index) => `./snippet-${index}.js`)
  const programs = FULL ? files.map(file => [file]) : [files]

  it.each(programs)('%s and what follows it run', (...together) => {
    const main = together.map(file => `await import('${file}')`).join('; ')
    const {status, said} = run(folder, ['--input-type=module', '--eval', main])
    expect(status, said).toBe(0)
    for (const shape of together.flatMap(file => shapesOf(SNIPPETS[files.indexOf(file)]!))) {
      expect(said.replace(/\s/g, '')).toContain(shape)
    }
  })
})
