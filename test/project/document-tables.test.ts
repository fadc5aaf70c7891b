/** What README and docs/ quote of results is what results/reference holds. */
import {execFileSync} from 'node:child_process'
import {existsSync, readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {describe, expect, it} from 'vitest'
import {CLAIM_IDS, referenceVerdict} from '../../src/claims/claims/index.js'

const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const textOf = (path: string) => readFileSync(pathOf(path), 'utf8')

/** Parts that quote results, by their documents in their order, and the first titles of tables that quote none. */
const DOCUMENTS = {
  'README.md': {
    parts: ['first run', 'some claims', 'speed'],
    others: ['question', 'name'],
  },
  'docs/claims.md': {parts: ['claims'], others: []},
  'docs/performance.md': {parts: ['kernels', 'peers', 'experiments'], others: []},
}

const PARTS = Object.entries(DOCUMENTS).flatMap(([document, {parts}]) =>
  parts.map(part => [part, document] as const),
)

function quoted(part: string): string {
  const argv = [pathOf('scripts/document-tables.js'), part]
  return execFileSync(process.execPath, argv, {encoding: 'utf8'})
}

describe('parts of documents that quote results', () => {
  it.each(PARTS)('are those of the reference files: %s in %s', (part, document) => {
    const section = quoted(part)
    expect(section.split('\n').length).toBeGreaterThan(8)
    expect(textOf(document)).toContain(section)
  })

  it.each(Object.entries(DOCUMENTS))(
    'are all that have tables of %s',
    (document, {parts, others}) => {
      const outside = parts.reduce((rest, name) => {
        const [before = '', after = ''] = rest.split(`<!-- ${name} -->`)
        return before + (after.split(`<!-- end of ${name} -->`)[1] ?? '')
      }, textOf(document))
      const titles = [...outside.matchAll(/^\| ([^|]+) \|.*\n\| ?-/gm)].map(match => match[1])
      expect(titles).toEqual(others)
    },
  )

  it('have every claim with a verdict that is kept', () => {
    const {claims} = JSON.parse(textOf('results/reference/claims/claims.json'))
    expect(claims.map(({id}: {id: string}) => id)).toEqual(
      CLAIM_IDS.filter(id => referenceVerdict(id) !== undefined),
    )
  })
})

describe('README', () => {
  const readme = textOf('README.md')

  it('has at most 200 lines and 2,600 words', () => {
    expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(200)
    expect(readme.split(/\s+/).length).toBeLessThanOrEqual(2600)
  })

  it('shows its first output within a screen', () => {
    const [, shown = ''] = /^```text\n([\s\S]*?)^```$/m.exec(readme)!
    expect(shown.trimEnd().split('\n').length).toBeLessThanOrEqual(24)
  })

  it('shows two figures of the reference', () => {
    const pictures = [...readme.matchAll(/<img src="([^"]+)"/g)].map(([, path]) => path!)
    expect(pictures).toHaveLength(2)
    for (const path of pictures) {
      expect(path.startsWith('results/reference/')).toBe(true)
      expect(existsSync(pathOf(path)), path).toBe(true)
    }
  })
})
