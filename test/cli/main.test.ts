/** What the program answers before, or in place of, a command: none of it takes a process of its own. */
import {describe, expect, it} from 'vitest'
import {runMain} from './run-command.js'

const LISTED = String.raw`rfa: expected one of the commands [\w-]+, [\w-]+, [\w-]+ and \d+ more`

describe('the program', () => {
  it('shows an unknown command without obeying it, as text and as JSON', async () => {
    const name = 'benc\u001b[2J\u009b1m\nx'
    for (const json of [[], ['--json']]) {
      const {stdout, stderr, exitCode} = await runMain(name, ...json)
      expect(stdout + stderr).toMatch(/\\(x|u00)1b\[2J/)
      expect(stdout + stderr).not.toMatch(/(?!\n)\p{Cc}/u)
      expect(stdout + stderr).toContain('UNKNOWN_NAME')
      expect(exitCode).toBe(2)
    }
  })

  it.each([
    ['bech', 'did you mean rfa bench?'],
    ['bech --help', 'did you mean rfa bench?'],
    ['help bech', 'did you mean rfa bench?'],
    ['measure a b', 'see rfa -h'],
    ['', 'see rfa -h'],
  ])('refuses the unknown command "%s", with what there is', async (words, remedy) => {
    const {exitCode, stdout, stderr} = await runMain(...words.split(' '))
    expect({exitCode, stdout}).toEqual({exitCode: 2, stdout: ''})
    const got = words.replace(/ ?(--help|help) ?/, '')
    expect(stderr).toMatch(new RegExp(`^${LISTED}, got "${got}"\nCode: UNKNOWN_NAME {3}Try: `))
    expect(stderr).toContain(`Try: ${remedy}\n`)
  })

  it('is run in this process without listeners that stay', async () => {
    const listeners = () => ['error', 'drain'].map(event => process.stdout.listenerCount(event))
    const before = listeners()
    await runMain('bench', '-h')
    expect(listeners()).toEqual(before)
  })

  it('leaves stray words to the command that they stand behind', async () => {
    const {exitCode, stdout, stderr} = await runMain('error-sweep', 'qkv.npz')
    expect(stderr).toMatch(/^Unexpected argument: qkv\.npz\n.*--input qkv\.npz\?/)
    expect({exitCode, stdout}).toEqual({exitCode: 2, stdout: ''})
    expect((await runMain('bench', 'favor-pos', '--help')).stdout).toMatch(
      /^Measure time and memory/,
    )
  })

  it('refuses an unknown command as JSON under --json', async () => {
    const {exitCode, stdout} = await runMain('nothing', '--json')
    expect(JSON.parse(stdout).error).toMatchObject({code: 'UNKNOWN_NAME', exit: 2})
    expect(exitCode).toBe(2)
  })

  it.each([[['-h']], [['--help']], [['help']], [[]]])('prints the commands for %j', async argv => {
    const {stdout, exitCode} = await runMain(...argv)
    expect(stdout).toMatch(/^measure +error-sweep +How far/m)
    expect(exitCode).toBe(0)
  })

  it.each([
    [['error-sweep', '--help']],
    [['error-sweep', '--quick', '--help']],
    [['help', 'error-sweep']],
  ])('prints help for %j, with names from the registries, without escape sequences', async argv => {
    const {stdout, exitCode} = await runMain(...argv)
    for (const part of ['favor-pos', 'gaussian', 'orth', 'performer-pytorch', 'wasm']) {
      expect(stdout).toContain(part)
    }
    expect(stdout).toMatch(/^ {2}130 +interrupted/m)
    expect(stdout).not.toContain('\u001b')
    expect(exitCode).toBe(0)
  })

  it('tells a missing file in one sentence', async () => {
    expect(await runMain('error-sweep', '--input', 'nowhere.npz')).toMatchObject({
      exitCode: 3,
      stdout: '',
      stderr: expect.stringMatching(/^nowhere\.npz: no such file\nCode: FILE_MISSING /),
    })
  })
})
