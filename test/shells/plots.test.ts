/** Plots on a terminal that is one, to the program. Needs the built program. */
import {execFileSync, spawnSync} from 'node:child_process'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {describe, expect, it} from 'vitest'
import {commandText} from '../../src/report/command-line.js'
import {temporaryFolder} from '../helpers/folders.js'

const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
/** Of util-linux: gives a program a terminal. */
const present = spawnSync('script', ['--version'], {encoding: 'utf8'}).stdout?.includes(
  'util-linux',
)
const title = 'a run on a terminal'

describe.skipIf(!present)(present ? title : `${title}, for which script is missing`, () => {
  const folder = temporaryFolder()
  let runs = 0
  const typed = (columns: number, environment: Record<string, string>, ...flags: string[]) => {
    const output = join(folder, String(runs++))
    const few = ['-m', 'rfa,elu', '--projections', 'iid,orth', '--scales', '1']
    const argv = ['error-sweep', '--quick', ...few, '-o', output, ...flags]
    const line = `stty cols ${columns}; ${commandText([process.execPath, program, ...argv])}`
    const {NO_COLOR: _, FORCE_COLOR: __, CI: ___, ...others} = process.env
    const env = {...others, TERM: 'xterm-256color', LC_ALL: 'C.UTF-8', ...environment}
    return execFileSync('script', ['-qec', line, '/dev/null'], {env, encoding: 'utf8'})
  }

  it('is drawn in Braille and colours, and in none under NO_COLOR', () => {
    expect(typed(80, {}, '--plot')).toMatch(
      // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
      /Error over the number of random vectors[\s\S]*[\u2801-\u28ff][\s\S]*\u001b\[38;5;\d+ma\u001b\[39m rfa/,
    )
    const plain = typed(80, {NO_COLOR: '1'}, '--plot')
    expect(plain).toMatch(/\na rfa iid {3}b rfa orth/)
    expect(plain).not.toContain('38;5;')
  })

  it('is not drawn unless asked for', () => {
    expect(typed(80, {})).not.toContain('Error over the number')
  })
})
