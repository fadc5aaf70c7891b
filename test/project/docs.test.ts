/** The site's pages: all of docs/ has a place, and what is generated says what the registries know. */
import {readdirSync} from 'node:fs'
import {join} from 'node:path'
import {pathToFileURL} from 'node:url'
import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators, PROJECTION_NAMES} from '../../src/attention/names.js'
import {packageRoot} from '../../src/package.js'
import {methodFacts} from '../../src/report/methods.js'

const root = packageRoot()
const module = (path: string) => import(pathToFileURL(join(root, path)).href)

let pages: Record<string, string>
beforeAll(async () => {
  const {referencePages} = await module('scripts/docs/reference.js')
  pages = await referencePages(root)
})

/** The text under a heading, up to the next one of its level. */
function section(page: string, title: string): string {
  return page.split(/^## /m).find(part => part.startsWith(title)) ?? ''
}

/** As it reads without Markdown's escapes. */
const plain = (text: string) => text.replaceAll(/\\([^a-zA-Z0-9\s])/g, '$1')

it('every page of docs/ is in the sidebar, once', async () => {
  const {SECTIONS} = await module('docs/.vitepress/sections.js')
  const listed: string[] = SECTIONS.flatMap(({pages: own}: {pages: string[][]}) =>
    own.map(([path]) => path),
  )
  const files = readdirSync(join(root, 'docs')).filter(name => name.endsWith('.md'))
  expect(new Set(listed).size).toBe(listed.length)
  expect(
    listed
      .filter(path => !path.includes('/'))
      .map(path => `${path}.md`)
      .sort(),
  ).toEqual(files.filter(name => name !== 'index.md').sort())
})

describe('the page of methods', () => {
  it('has formula, source and every option with its default, of each in the registry', async () => {
    const estimators = Object.values(await loadEstimators())
    expect(estimators.length).toBeGreaterThan(20)
    for (const estimator of estimators) {
      const facts = methodFacts(estimator, {numFeatures: 256, headDim: 64}, undefined)
      const text = plain(section(pages.methods!, `${facts.name}: `))
      for (const said of [facts.formula, facts.citation, facts.advice]) expect(text).toContain(said)
      for (const option of facts.options) {
        expect(text).toContain(`| ${option.name} | ${String(option.default)} |`)
      }
    }
  })
})

it('the page of projections has each of them', () => {
  for (const name of PROJECTION_NAMES) expect(section(pages.projections!, `${name}: `)).not.toBe('')
})

it('the page of schemas has each file of schemas/', () => {
  for (const name of readdirSync(join(root, 'schemas'))) {
    expect(section(pages.schemas!, name)).toMatch(/^\| \w+/m)
  }
})
