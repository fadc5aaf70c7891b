import {readFileSync} from 'node:fs'
import {describe, expect, it} from 'vitest'
import {METHOD_NAMES} from '../../src/attention/index.js'

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')

/** Names in the first column of the table under a heading. */
function firstColumn(heading: string): string[] {
  const section = README.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!
  const rows = section.split('\n').filter(line => line.startsWith('| `'))
  return rows.flatMap(row => [...row.split('|')[1]!.matchAll(/`([^`]+)`/g)].map(match => match[1]!))
}

describe('the README', () => {
  it('has every method in its table', () => {
    expect(new Set(firstColumn('Methods'))).toEqual(new Set(METHOD_NAMES))
  })
})
