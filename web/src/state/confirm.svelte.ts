/** Confirmation dialogs. */

export interface Question {
  title: string;
  text: string;
  action: string;
}

class Confirmation {
  question = $state.raw<Question | null>(null);
  private settle: ((answer: boolean) => void) | null = null;

  ask(question: Question): Promise<boolean> {
    this.settle?.(false);
    this.question = question;
    return new Promise((done) => {
      this.settle = done;
    });
  }

  answer(answer: boolean): void {
    this.question = null;
    this.settle?.(answer);
    this.settle = null;
  }
}

export const confirmation = new Confirmation();
