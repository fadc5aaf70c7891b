/** README's first screen is what results/reference holds. */
import {existsSync, readdirSync, readFileSync, statSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {services} from '../../src/cli/program/services.js'
import {readSaved, savedReport} from '../../src/cli/report/read-saved.js'
import {packageRoot} from '../../src/package.js'
import {renderTerminal} from '../../src/report/terminal.js'

const root = packageRoot()
const README = readFileSync(join(root, 'README.md'), 'utf8')
const FOLDER = 'results/reference'
const QUICK = `${FOLDER}/error-sweep-quick`
const WIDTH = 100

describe('README', () => {
  it('shows what the quick sweep of the reference prints, line by line', async () => {
    const [, shown = ''] = /^```text\n([\s\S]*?)^```$/m.exec(README)!
    const saved = await readSaved([join(root, QUICK)], 'rfa', services)
    const printed = renderTerminal(await savedReport(saved), {
      width: WIDTH,
      colour: false,
      unicode: true,
    })
    const lines = new Set(printed.split('\n'))
    const wrong = shown.split('\n').filter(line => !lines.has(line))
    expect(wrong).toEqual([])
    expect(shown.split('\n').length).toBeGreaterThan(50)
    expect(README).toContain(`in a terminal of ${WIDTH} columns`)
  })

  it('names the commit and the day of that run', () => {
    const {machine, created_at} = JSON.parse(
      readFileSync(join(root, QUICK, 'manifest.json'), 'utf8'),
    )
    expect(README.replaceAll(/\s+/g, ' ')).toMatch(
      new RegExp(`on ${created_at.slice(0, 10)},[^)]*at commit ${machine.commit.slice(0, 7)}`),
    )
  })

  it('shows two figures of the reference before its first output', () => {
    const first = README.slice(0, README.indexOf('```text'))
    const pictures = [...first.matchAll(/<img src="([^"]+)"/g)].map(([, path]) => path!)
    expect(pictures).toHaveLength(2)
    for (const path of pictures) {
      expect(path.startsWith(`${FOLDER}/`)).toBe(true)
      expect(existsSync(join(root, path)), path).toBe(true)
    }
  })
})

describe('results/reference', () => {
  const folders = readdirSync(join(root, FOLDER)).filter(name =>
    statSync(join(root, FOLDER, name)).isDirectory(),
  )

  it.each(folders)('%s is made by a part of npm run reference', name => {
    const script = readFileSync(join(root, 'scripts/reference.js'), 'utf8')
    expect(script).toMatch(new RegExp(`^  '?${name}'?(:|,)`, 'm'))
  })
})
