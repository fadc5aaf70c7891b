import {execFileSync} from 'node:child_process'
import {readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {describe, expect, it} from 'vitest'
import {CLAIM_IDS} from '../../src/claims/index.js'

const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const text = (path: string) => readFileSync(pathOf(path), 'utf8')

describe("README's claims", () => {
  it('are those of the reference run, all of them', () => {
    const {claims} = JSON.parse(text('results/reference/claims/claims.json'))
    expect(claims.map(({id}: {id: string}) => id)).toEqual(CLAIM_IDS)
    const table = execFileSync(process.execPath, [pathOf('scripts/readme-claims.js')], {
      encoding: 'utf8',
    })
    expect(text('README.md')).toContain(`<!-- claims -->\n\n${table}\n<!-- end of claims -->`)
  })
})
