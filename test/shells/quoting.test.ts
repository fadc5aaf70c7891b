/** Commands that are printed to be typed again reach the program as they were, whatever shell reads them. */
import {writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {expect, it} from 'vitest'
import {commandText} from '../../src/report/command-line.js'
import {temporaryFolder} from '../helpers/folders.js'
import {describeShells, inShell} from '../helpers/shells.js'

/** Whatever may stand in an argument that is shown without being written out. */
const HOSTILE = [
  ['--num-features', '64..1k*2', '--num-features', '64..1kx2', '--norms', '0.5..2+0.5'],
  ['', ' ', '  two  ', 'tab\there', 'line\nbreak', 'trailing\n', '\n'],
  ["it's", "''", "'", "a'b'c", '"', '""', 'say "hi"', `'"'"'`, "'\\''", "\\'", '\\"'],
  [
    '\\',
    '\\\\',
    '\\\\\\',
    'a\\b',
    '\\n',
    '\\\n',
    'end\\',
    "\\'\\",
    'C:\\new\\table',
    '\\x41',
    '\\u0041',
  ],
  ['$HOME', `\${HOME}`, '$(id)', '`id`', '$$', '(id)', '$((1+1))', '<(id)', '=(id)', '$fish_pid'],
  [
    '*',
    '**',
    '?',
    '[a-z]',
    '{a,b}',
    '{1..3}',
    '~',
    '~root',
    '!x',
    '!!',
    '^x',
    '#x',
    '@(a)',
    '+(a)',
  ],
  ['=ls', 'a=b', 'a=~', '%self', '%1', '%', ':', ',', '@', '+', '-', '--', '---', '-n', '-e'],
  [
    ';',
    '&',
    '&&',
    '|',
    '||',
    '>',
    '>>',
    '<',
    '2>&1',
    '>&2',
    'a;b',
    '>x',
    '^',
    '()',
    '[',
    ']',
    '[[',
  ],
  ['end', 'if', 'then', 'do', 'done', 'time', 'function', '{', '}', 'in', 'not', 'and', 'or'],
  ['naïve', 'Größe', '日本', '😀', 'e\u0301', '\u00a0', 'a\u3000b', '\u2028'],
  ['(a', 'b)', '$', 'a$', '"$HOME"', "'$HOME'", '\\$HOME', 'a\\ b', 'x\\*', '!"', "!'", '"!x"'],
]

describeShells('a printed command', shell => {
  const folder = temporaryFolder()

  it.each(HOSTILE.map(words => [words]))('brings %j back word by word', async words => {
    const script = join(folder, 'print-argv.cjs')
    writeFileSync(script, 'process.stdout.write(JSON.stringify(process.argv.slice(2)))')
    const line = commandText([process.execPath, script, ...words])
    const {stdout, stderr, code} = await inShell(shell, line, {cwd: folder})
    expect({stderr, code}, line).toEqual({stderr: '', code: 0})
    expect(JSON.parse(stdout), line).toEqual(words)
  })

  it('brings every pair of awkward characters back', async () => {
    const script = join(folder, 'print-argv.cjs')
    writeFileSync(script, 'process.stdout.write(JSON.stringify(process.argv.slice(2)))')
    const awkward = [...'\'"\\$`!*?[]{}()<>|&;#~=%^@ \n\ta']
    const words = awkward.flatMap(a => awkward.map(b => a + b))
    const {stdout} = await inShell(shell, commandText([process.execPath, script, ...words]))
    expect(JSON.parse(stdout)).toEqual(words)
  })
})
