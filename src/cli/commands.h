/* The commands, one a file (cmd_<name>.c). Each returns the exit code. */
#ifndef AX_CLI_COMMANDS_H
#define AX_CLI_COMMANDS_H

struct cli;

int cmd_up(struct cli *c);
int cmd_init(struct cli *c);
int cmd_submit(struct cli *c);
int cmd_work(struct cli *c);
int cmd_status(struct cli *c);
int cmd_cancel(struct cli *c);
int cmd_cron(struct cli *c);
int cmd_pool(struct cli *c);
int cmd_dead(struct cli *c);
int cmd_doctor(struct cli *c);

extern const char cmd_up_detail[];
extern const char cmd_submit_detail[];
extern const char cmd_work_detail[];
extern const char cmd_cancel_detail[];
extern const char cmd_cron_detail[];
extern const char cmd_pool_detail[];
extern const char cmd_dead_detail[];
extern const char cmd_doctor_detail[];

#endif
