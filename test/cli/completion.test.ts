import {describe, expect, it} from 'vitest'
import Completion from '../../commands/completion.js'
import {METHOD_NAMES} from '../../src/attention/names.js'
import {commandIds} from '../helpers/commands.js'
import {run} from './services.js'

describe('rfa completion', () => {
  it.each(['bash', 'zsh', 'fish'])(
    'prints a script for %s with all commands and methods',
    async shell => {
      const {stdout, stderr, exitCode} = await run(Completion, 'completion', [shell])
      expect({stderr, exitCode}).toEqual({stderr: '', exitCode: 0})
      for (const name of commandIds) expect(stdout).toContain(name)
      expect(stdout).toContain(METHOD_NAMES.join(' '))
      expect(stdout).not.toMatch(/undefined|\[object|(?!\n)\p{Cc}/u)
    },
  )

  it('puts it into a document under --json', async () => {
    const {stdout} = await run(Completion, 'completion', ['fish', '--json'])
    expect(JSON.parse(stdout)).toEqual({
      schema: 'rfa.completion/1',
      shell: 'fish',
      script: expect.stringContaining('complete -c rfa'),
    })
  })
})
