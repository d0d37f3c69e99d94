import { readMessages } from '@headwater/client/ai-sdk';

export async function answerOf(response: Response) {
  let answer;
  for await (const message of readMessages(response)) answer = message;
  return answer;
}
