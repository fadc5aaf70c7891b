import {execFileSync} from 'node:child_process'
import {readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {describe, expect, it} from 'vitest'
import {CLAIM_IDS} from '../../src/claims/index.js'

const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const textOf = (path: string) => readFileSync(pathOf(path), 'utf8')
const README = textOf('README.md')

/** Those of README that quote results, in its order. */
const TABLES = ['claims', 'kernels', 'peers', 'experiments']
/** First titles of those that quote none. */
const WITHOUT_RESULTS = ['question', 'name']

describe("README's tables of results", () => {
  it.each(TABLES)('are those of the reference files, number by number: %s', name => {
    const section = execFileSync(process.execPath, [pathOf('scripts/readme-tables.js'), name], {
      encoding: 'utf8',
    })
    expect(section.split('\n').length).toBeGreaterThan(10)
    expect(README).toContain(section)
  })

  it('are all the tables that it has', () => {
    const outside = TABLES.reduce((rest, name) => {
      const [before = '', after = ''] = rest.split(`<!-- ${name} -->`)
      return before + (after.split(`<!-- end of ${name} -->`)[1] ?? '')
    }, README)
    const titles = [...outside.matchAll(/^\| ([^|]+) \|.*\n\| ?-/gm)].map(match => match[1])
    expect(titles).toEqual(WITHOUT_RESULTS)
  })

  it('have every claim', () => {
    const {claims} = JSON.parse(textOf('results/reference/claims/claims.json'))
    expect(claims.map(({id}: {id: string}) => id)).toEqual(CLAIM_IDS)
  })
})
