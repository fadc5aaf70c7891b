/** The runs in results/reference become a report as they are. Needs the built program. */
import {existsSync, readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'
import {temporaryFolder} from '../helpers/folders.js'
import {inShell} from '../helpers/shells.js'
import {writeProgram} from '../helpers/typed-commands.js'

it('all of them, by one command: a page, figures and Markdown', async () => {
  const folder = temporaryFolder()
  const out = (name: string) => join(folder, name)
  const files = `--html ${out('report.html')} --png ${out('figs')} --markdown ${out('report.md')}`
  const options = {cwd: packageRoot(), env: writeProgram(folder)}
  const command = `npx rfa report results/reference/* ${files}`
  const {code, stdout, stderr} = await inShell('bash', command, options)
  expect(code, stderr).toBe(0)
  expect(stdout).toBe('')
  expect(stderr).toMatch(/^left out: no folders of runs: .*results\/reference\/kernels\.json/m)
  const [markdown, page] = ['report.md', 'report.html'].map(name => readFileSync(out(name), 'utf8'))
  const runs = readdirSync(join(packageRoot(), 'results/reference'), {withFileTypes: true})
  for (const {name} of runs.filter(entry => entry.isDirectory())) {
    expect(markdown).toContain(`results/reference/${name}`)
    expect(page).toContain(`results/reference/${name}`)
  }
  const shown = [...markdown!.matchAll(/\]\(<(figs\/[^>]+\.png)>\)/g)].map(([, path]) => path!)
  expect(shown.length).toBeGreaterThan(1)
  for (const path of shown) expect(existsSync(out(path)), path).toBe(true)
})
