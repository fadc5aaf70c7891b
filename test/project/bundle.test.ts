/** The files that `rfa` itself runs, made by scripts/bundle.js. */
import {existsSync, readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'

const program = join(packageRoot(), 'dist', 'program')

it('has every command', () => {
  const sources = readdirSync(join(packageRoot(), 'commands'))
  expect(readdirSync(join(program, 'commands')).sort()).toEqual(
    sources.map(name => name.replace(/\.ts$/, '.js')).sort(),
  )
})

it('holds zod with its licence, and imports the other packages that it needs', () => {
  const texts = readdirSync(program, {recursive: true, encoding: 'utf8'})
    .filter(name => name.endsWith('.js'))
    .map(name => readFileSync(join(program, name), 'utf8'))
  const imports = texts.flatMap(text =>
    [...text.matchAll(/^(?:import|export) .*from "([^."][^"]*)";$/gm)].map(([, name]) => name!),
  )
  const packages = new Set(imports.filter(name => !name.startsWith('node:')))
  expect(packages).toContain('fastest-levenshtein')
  expect(packages).not.toContain('zod')
  const {dependencies} = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'))
  const known = Object.keys(dependencies)
  const owner = (name: string) => known.find(one => name === one || name.startsWith(`${one}/`))
  expect([...packages].filter(name => owner(name) === undefined)).toEqual([])
  expect(readFileSync(join(program, 'parts', 'zod-LICENSE'), 'utf8')).toContain('MIT License')
})

it('has what is looked up by its name', () => {
  for (const name of ['worker.js', 'parent-watch.js', 'ahead.js']) {
    expect(existsSync(join(program, 'src', 'runner', name))).toBe(true)
  }
})
