/** The files that `rfa` itself runs, made by scripts/bundle.js. */
import {existsSync, readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {pathToFileURL} from 'node:url'
import {expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'

const program = join(packageRoot(), 'dist', 'program')

it('has every command', () => {
  const sources = readdirSync(join(packageRoot(), 'commands'))
  expect(readdirSync(join(program, 'commands')).sort()).toEqual(
    sources.map(name => name.replace(/\.ts$/, '.js')).sort(),
  )
})

/** By which plug-ins enter. */
const door = join('src', 'attention', 'index.js')

it('holds what it uses of some packages with their licences, and imports the other packages that it needs', () => {
  // files of an earlier build are there for programs that have begun
  const built: string[] = JSON.parse(readFileSync(`${program}.json`, 'utf8'))
  const texts = built
    .filter(name => name.endsWith('.js') && name !== door)
    .map(name => readFileSync(join(program, name), 'utf8'))
  // a locale is nothing that it uses: a door that gave plug-ins this copy would keep all of them
  expect(texts.some(text => /Ung(?:ü|\\xFC)ltige Eingabe/.test(text))).toBe(false)
  const imports = texts.flatMap(text =>
    [...text.matchAll(/\b(?:import|export)\b[\w$\s{}*,]*?from\s*"([^."][^"]*)"/g)].map(
      ([, name]) => name!,
    ),
  )
  const packages = new Set(imports.filter(name => !name.startsWith('node:')))
  expect(packages).toContain('fflate')
  const {dependencies} = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'))
  const known = Object.keys(dependencies)
  const owner = (name: string) => known.find(one => name === one || name.startsWith(`${one}/`))
  expect([...packages].filter(name => owner(name) === undefined)).toEqual([])
  for (const name of [
    'csv-stringify',
    'fastest-levenshtein',
    'hyparquet',
    'hyparquet-writer',
    'zod',
  ]) {
    expect(packages).not.toContain(name)
    const licence = readFileSync(join(program, 'parts', `${name}-LICENSE`), 'utf8')
    expect(licence).toMatch(/MIT License/)
  }
})

it('holds what reads command lines, and the licence of each package that this brings', () => {
  const licences = readFileSync(join(program, 'parts', 'oclif-LICENSES'), 'utf8')
  for (const name of [
    '@oclif/core',
    'ansi-styles',
    'ejs',
    'minimatch',
    'tinyglobby',
    'wrap-ansi',
  ]) {
    expect(`\n\n${licences}`).toContain(`\n\n${name}\n\n`)
  }
})

it('does not pass by the door of plug-ins, which loads all of zod', () => {
  const inUse: string[] = JSON.parse(readFileSync(`${program}.json`, 'utf8'))
  const passing = inUse.filter(name =>
    readFileSync(join(program, name), 'utf8').includes('/attention/index.js"'),
  )
  expect(passing).toEqual(['src/index.js']) // a door, too
})

it('has what is looked up by its name', () => {
  for (const name of ['worker.js', 'parent-watch.js', 'prestarted-worker.js']) {
    expect(existsSync(join(program, 'src', 'runner', 'workers', name))).toBe(true)
  }
  expect(existsSync(join(program, 'src', 'plugins', 'hooks.js'))).toBe(true)
})

it('exports to plug-ins what the library exports', async () => {
  for (const path of ['index.js', join('attention', 'index.js')]) {
    const [ours, library] = await Promise.all(
      [program, join(packageRoot(), 'dist')].map(
        folder => import(pathToFileURL(join(folder, 'src', path)).href),
      ),
    )
    expect(Object.keys(ours).sort()).toEqual(Object.keys(library).sort())
  }
})
