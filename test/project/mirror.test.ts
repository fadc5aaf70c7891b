import {existsSync, readdirSync} from 'node:fs'
import {join} from 'node:path'
import {expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'

const root = packageRoot()
const unit = readdirSync(join(root, 'test', 'unit'), {recursive: true, encoding: 'utf8'})

it('every unit test stands where its source does: a file, or a folder as a whole', () => {
  const tests = unit.filter(path => path.endsWith('.test.ts'))
  expect(tests.length).toBeGreaterThan(100)
  const lost = tests.filter(path => {
    const source = join(root, 'src', path.replace(/\.test\.ts$/, ''))
    return !existsSync(`${source}.ts`) && !existsSync(source)
  })
  expect(lost).toEqual([])
})

it('what tests share stands in test/helpers', () => {
  const others = unit.filter(path => /\.[a-z]+$/.test(path) && !/\.test\.ts(\.snap)?$/.test(path))
  expect(others).toEqual([])
})
